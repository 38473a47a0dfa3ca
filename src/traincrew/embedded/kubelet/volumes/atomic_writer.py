"""AtomicWriter: replaces all files of a volume at once.

A container sees symbolic links: `name -> ..data/name`, and `..data` points to a timestamped directory. A new payload is written
to a new directory; then one rename replaces `..data`. After a crash the next write cleans up.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import pathlib
import secrets
import shutil
from collections.abc import Callable

from traincrew.embedded.kubelet.volumes.projected_files import Payload, ProjectedFile, validate_paths

DATA = "..data"
NEW = "..data_tmp"

Prepare = Callable[[pathlib.Path], None]
"""Sets owner and modes of a new directory before it becomes visible."""


def write(volume: pathlib.Path, payload: Payload, prepare: Prepare | None = None) -> bool:
    """Writes the payload. Returns whether anything changed. Raises VolumeSourceError, OSError."""
    payload = validate_paths(payload)
    shown = _current(volume)
    changed = shown is None or _differs(volume / shown, payload)
    if changed:
        fresh = _write_payload(volume, payload)
        if prepare is not None:
            prepare(fresh)
        _publish(volume, fresh.name)
        shown = fresh.name
    _link(volume, {path.split("/")[0] for path in payload})
    _clean_up(volume, shown or "")
    return changed


def _current(volume: pathlib.Path) -> str | None:
    try:
        name = os.readlink(volume / DATA)
    except FileNotFoundError:
        return None
    return name if (volume / name).is_dir() else None


def _differs(directory: pathlib.Path, payload: Payload) -> bool:
    existing = {str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()}
    return existing != payload.keys() or any(not _same(directory / path, file) for path, file in payload.items())


def _same(path: pathlib.Path, file: ProjectedFile) -> bool:
    return path.read_bytes() == file.data


def _write_payload(volume: pathlib.Path, payload: Payload) -> pathlib.Path:
    stamp = datetime.datetime.now(datetime.UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    fresh = volume / f"{stamp}{secrets.randbelow(10**10)}"
    fresh.mkdir()
    fresh.chmod(0o755)
    for path, file in payload.items():
        _directories(fresh, path)
        _write(fresh / path, file)
    return fresh


def _directories(fresh: pathlib.Path, path: str) -> None:
    """Creates directories that other users may enter, whatever the umask is."""
    inner = fresh
    for part in path.split("/")[:-1]:
        inner /= part
        if not inner.is_dir():
            inner.mkdir()
            inner.chmod(0o755)


def _write(path: pathlib.Path, file: ProjectedFile) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(file.data)
        if file.user is not None and file.user != os.geteuid():
            os.fchown(opened.fileno(), file.user, -1)
        os.fchmod(opened.fileno(), file.mode)


def _publish(volume: pathlib.Path, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        (volume / NEW).unlink()
    (volume / NEW).symlink_to(name)
    os.rename(volume / NEW, volume / DATA)


def _link(volume: pathlib.Path, names: set[str]) -> None:
    for name in names:
        with contextlib.suppress(FileExistsError):
            (volume / name).symlink_to(f"{DATA}/{name}")
    for entry in list(os.scandir(volume)):
        # Mount points in the volume are directories and must stay.
        if not entry.name.startswith("..") and entry.name not in names and entry.is_symlink():
            os.unlink(entry.path)


def _clean_up(volume: pathlib.Path, shown: str) -> None:
    for entry in list(os.scandir(volume)):
        if entry.name.startswith("..") and entry.name not in (DATA, shown):
            if entry.is_symlink():
                os.unlink(entry.path)
            else:
                shutil.rmtree(entry.path, ignore_errors=True)
