"""hostPath: a path of the machine, checked against its type."""

from __future__ import annotations

import bisect
import contextlib
import errno
import os
import pathlib
import stat
from collections.abc import Callable

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.runtime.rootfs.hidden_directories import HiddenDirectories
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import Resolve, RootDirectory, descriptor_path
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


def resolve(source: Object, data: pathlib.Path | None = None, *, claimed: bool = False) -> str:
    """data: the cluster's data directory. claimed: of a persistent volume, which may be in that directory's part for volumes.

    Pods may change directories of the machine meanwhile. So the path is opened once, from the root, and what is missing is
    created below the directory that is open then. The runtime opens the path again and checks it again. Raises VolumeSourceError.
    """
    path, kind = source["path"], source.get("type") or ""
    if kind and kind not in _CHECKS:
        raise VolumeSourceError(f"{kind} is an invalid volume type")
    outside = _Outside(path, data, claimed)
    with contextlib.closing(RootDirectory("/")) as host:
        opened = _open(host, path, kind, outside)
    if opened is None:
        raise VolumeSourceError(f"hostPath type check failed: {path} is not {_CHECKS[kind][1]}")
    try:
        outside.check(opened)
        if kind and not _CHECKS[kind][0](os.fstat(opened).st_mode):
            raise VolumeSourceError(f"hostPath type check failed: {path} is not {_CHECKS[kind][1]}")
    finally:
        os.close(opened)
    return str(path)


class _Outside:
    """Whether directories are outside of the cluster's data directory."""

    def __init__(self, path: str, data: pathlib.Path | None, claimed: bool) -> None:
        self._path, self._data, self._claimed = path, data, claimed
        self._hidden = HiddenDirectories((str(data),)) if data is not None else None

    def check(self, opened: int) -> None:
        """Raises VolumeSourceError."""
        if self._hidden is None:
            return
        real = os.readlink(descriptor_path(opened))
        if real in self._hidden.paths or self._hidden.hides(real, opened, host_path=not self._claimed):
            message = f"hostPath {self._path} is in the cluster's data directory {self._data}, which cannot be mounted into pods"
            raise VolumeSourceError(message)


def _open(host: RootDirectory, path: str, kind: str, outside: _Outside) -> int | None:
    """None: the path does not exist or is not accessible, and the type does not ask for its creation."""
    try:
        return host.open(path)
    except FileNotFoundError:
        # Without a type nothing is checked, but container runtimes create a missing path as a directory.
        if kind and not kind.endswith("OrCreate"):
            return None
    except OSError as error:
        if kind:
            return None
        raise VolumeSourceError(f"open {path}: {_words(error)}") from None
    try:
        return _create(host, path, "file" if kind == "FileOrCreate" else "directory", outside)
    except OSError as error:
        raise VolumeSourceError(f"{'open' if kind == 'FileOrCreate' else 'mkdir'} {path}: {_words(error)}") from None


def _create(host: RootDirectory, path: str, make: str, outside: _Outside) -> int:
    names = [name for name in path.split("/") if name]
    # By bisection: a path may have two thousand names, and each question is a walk from the root.
    existing = bisect.bisect_left(range(len(names)), True, key=lambda count: not host.exists("/".join(names[: count + 1])))
    if make == "file" and existing < len(names) - 1:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    opened = host.open("/".join(names[:existing]))
    try:
        outside.check(opened)
        with contextlib.closing(RootDirectory(opened, Resolve.NO_SYMLINKS)) as parent:
            return parent.open("/".join(names[existing:]), make=make)
    finally:
        os.close(opened)


def _words(error: OSError) -> str:
    # A link that leads nowhere is in the place of the directory, as for mkdir.
    return os.strerror(errno.EEXIST if error.errno == errno.ELOOP else error.errno or errno.EIO).lower()
