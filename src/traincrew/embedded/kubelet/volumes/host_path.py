"""hostPath: a path of the machine, checked against its type."""

from __future__ import annotations

import os
import pathlib
import stat
from collections.abc import Callable

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.runtime.rootfs.hidden_directories import HiddenDirectories
from traincrew.embedded.kubelet.runtime.rootfs.host_mounts import is_within
from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError

_CHECKS: dict[str, tuple[Callable[[int], bool], str]] = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def resolve(source: Object, data: pathlib.Path | None = None) -> str:
    """Raises VolumeSourceError."""
    path, kind = source["path"], source.get("type") or ""
    if data is not None and _within(path, data):
        raise VolumeSourceError(f"hostPath {path} is in the cluster's data directory {data}, which cannot be mounted into pods")
    if kind and kind not in _CHECKS:
        raise VolumeSourceError(f"{kind} is an invalid volume type")
    # Without a type nothing is checked, but container runtimes create a missing path as a directory.
    if (not kind or kind.endswith("OrCreate")) and not os.path.lexists(path):
        _create(path, kind or "DirectoryOrCreate")
    if not kind:
        return str(path)
    check, words = _CHECKS[kind]
    if not _is(path, check):
        raise VolumeSourceError(f"hostPath type check failed: {path} is not {words}")
    return str(path)


def _within(path: str, data: pathlib.Path) -> bool:
    """The runtime checks it again, with the file that it mounts."""
    real = os.path.realpath(path)
    return any(is_within(real, each) for each in HiddenDirectories((str(data),)).paths)


def _create(path: str, kind: str) -> None:
    try:
        if kind == "DirectoryOrCreate":
            os.makedirs(path, mode=0o755, exist_ok=True)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    except OSError as error:
        verb = "mkdir" if kind == "DirectoryOrCreate" else "open"
        raise VolumeSourceError(f"{verb} {path}: {(error.strerror or str(error)).lower()}") from None


def _is(path: str, check: Callable[[int], bool]) -> bool:
    try:
        return check(os.stat(path).st_mode)
    except OSError:
        return False
