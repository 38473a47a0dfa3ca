"""AtomicWriter: replaces all files of a volume at once.

A container sees symbolic links: `name -> ..data/name`, and `..data` points to a timestamped directory. A new payload is written
to a new directory; then one rename replaces `..data`. After a crash the next write cleans up.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import stat
from collections.abc import Callable

from traincrew.client import clock
from traincrew.embedded.file_trees import removal, walk
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import Resolve, RootDirectory, descriptor_path
from traincrew.embedded.kubelet.volumes.projected_files import Payload, ProjectedFile, validate_paths

DATA = "..data"
NEW = "..data_tmp"

Prepare = Callable[[pathlib.Path], None]
"""Sets owner and modes of a new directory before it becomes visible."""


def write(volume: pathlib.Path, payload: Payload, prepare: Prepare | None = None) -> bool:
    """Writes the payload. Returns whether anything changed. Raises VolumeSourceError, OSError."""
    payload = validate_paths(payload)
    # By descriptors: a container that may mount can write to the volume, and must not lead this process elsewhere.
    with contextlib.closing(RootDirectory(str(volume), Resolve.NO_SYMLINKS)) as directory:
        shown = _current(directory)
        changed = not shown or _differs(directory, shown, payload)
        if changed:
            shown = _write_payload(directory, payload)
            if prepare is not None:
                prepare(volume / shown)
            _publish(directory.top, shown)
        _link(directory.top, {path.split("/")[0] for path in payload})
        _clean_up(directory.top, shown)
    return changed


def _current(directory: RootDirectory) -> str:
    """The name of the directory that is shown; empty: none."""
    with contextlib.suppress(OSError):
        name = os.readlink(DATA, dir_fd=directory.top)
        if "/" not in name and stat.S_ISDIR(os.lstat(name, dir_fd=directory.top).st_mode):
            return name
    return ""


def _differs(directory: RootDirectory, shown: str, payload: Payload) -> bool:
    """Whether the files of the payload are not there, or others are."""
    files = sum(not each.is_directory for each in walk.walk(f"{descriptor_path(directory.top)}/{shown}"))
    return files != len(payload) or not all(_has(directory, f"{shown}/{path}", file.data) for path, file in payload.items())


def _has(directory: RootDirectory, path: str, data: bytes) -> bool:
    try:
        found = directory.open(path)
    except OSError:
        return False
    try:
        status = os.fstat(found)
        if not stat.S_ISREG(status.st_mode) or status.st_size != len(data):
            return False
        with open(descriptor_path(found), "rb") as file:
            return file.read(len(data) + 1) == data
    finally:
        os.close(found)


def _write_payload(directory: RootDirectory, payload: Payload) -> str:
    """Returns the name of the new directory."""
    stamp = clock.now()
    fresh = f"{stamp:..%Y_%m_%d_%H_%M_%S.}{secrets.randbelow(10**10)}"
    # Other users may enter, whatever the umask is.
    os.close(directory.open(fresh, make="directory", mode=0o755))
    for path, file in payload.items():
        parent = directory.open(f"{fresh}/{os.path.dirname(path)}", make="directory", mode=0o755)
        try:
            _write(parent, os.path.basename(path), file)
        finally:
            os.close(parent)
    return fresh


def _write(parent: int, name: str, file: ProjectedFile) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=parent)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(file.data)
        if file.user is not None and file.user != os.geteuid():
            os.fchown(opened.fileno(), file.user, -1)
        os.fchmod(opened.fileno(), file.mode)


def _publish(directory: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(NEW, dir_fd=directory)
    os.symlink(name, NEW, dir_fd=directory)
    os.rename(NEW, DATA, src_dir_fd=directory, dst_dir_fd=directory)


def _link(directory: int, names: set[str]) -> None:
    for name in names:
        with contextlib.suppress(FileExistsError):
            os.symlink(f"{DATA}/{name}", name, dir_fd=directory)
    for name, is_link in _entries(directory):
        # Mount points in the volume are directories and must stay.
        if not name.startswith("..") and name not in names and is_link:
            os.unlink(name, dir_fd=directory)


def _clean_up(directory: int, shown: str) -> None:
    for name, is_link in _entries(directory):
        if name.startswith("..") and name not in (DATA, shown):
            if is_link:
                os.unlink(name, dir_fd=directory)
            else:
                with contextlib.suppress(OSError):  # the next write tries again
                    removal.remove_tree(f"{descriptor_path(directory)}/{name}")


def _entries(directory: int) -> list[tuple[str, bool]]:
    """Names, and whether they are symbolic links."""
    with os.scandir(descriptor_path(directory)) as entries:
        return [(entry.name, entry.is_symlink()) for entry in entries]
