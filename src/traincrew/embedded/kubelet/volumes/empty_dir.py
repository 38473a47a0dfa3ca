"""emptyDir: a directory that lives as long as its pod, on the disk or in memory.

In memory: root mounts a tmpfs with the requested size. Other users get a directory in the shared memory of the machine, whose
size is measured (`ephemeral_storage.exceeded_limit`) but not enforced.
"""

from __future__ import annotations

import os
import pathlib

from traincrew.apimachinery import quantities
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.spec import Isolation
from traincrew.embedded.kubelet.volumes.errors import VolumeSourceError
from traincrew.embedded.kubelet.volumes.pod_volumes import VolumeHost

SHARED_MEMORY = pathlib.Path("/dev/shm")  # noqa: S108 -- only private directories are created in it


def create(name: str, source: Object, host: VolumeHost) -> str:
    medium = source.get("medium") or ""
    if medium not in ("", "Memory"):
        raise VolumeSourceError(f"medium {medium} is not supported. Use Memory, or omit it.")
    if not medium:
        return str(_world_writable(host.volumes / name))
    if host.isolation is Isolation.ROOT and os.geteuid() == 0:
        return str(_tmpfs(host.volumes / name, source.get("sizeLimit")))
    return str(_world_writable(_private(memory_directory(host)) / name))


def _world_writable(path: pathlib.Path) -> pathlib.Path:
    """Mode 0777: the pod's directory above it is not accessible to other users."""
    path.mkdir(parents=True, exist_ok=True)
    if path.stat().st_uid == os.geteuid() and path.stat().st_mode & 0o777 != 0o777:
        path.chmod(path.stat().st_mode | 0o777)
    return path


def _tmpfs(path: pathlib.Path, limit: str | None) -> pathlib.Path:
    path.mkdir(parents=True, exist_ok=True)
    if not os.path.ismount(path):
        size = f",size={quantities.value(limit)}" if limit and quantities.nanos(limit) else ""
        syscalls.mount("tmpfs", str(path), "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, f"mode=0777{size}")
    return path


def memory_directory(host: VolumeHost) -> pathlib.Path:
    """The pod's directory in shared memory, which a reboot clears."""
    return SHARED_MEMORY / f"traincrew-{os.geteuid()}" / host.directory.name


def _private(path: pathlib.Path) -> pathlib.Path:
    if not os.path.ismount(SHARED_MEMORY):
        raise VolumeSourceError(f"medium Memory: {SHARED_MEMORY} is not a tmpfs on this machine")
    for each in (path.parent, path):
        each.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(each)
        if status.st_uid != os.geteuid() or each.is_symlink():
            raise VolumeSourceError(f"medium Memory: {each} belongs to another user")
        os.chmod(each, 0o700, follow_symlinks=True)
    return path


def size_limit(volume: Object) -> str:
    """The sizeLimit of an emptyDir; empty: none."""
    limit = (volume.get("emptyDir") or {}).get("sizeLimit")
    return str(limit) if limit and quantities.nanos(limit) > 0 else ""


def candidate_paths(name: str, host: VolumeHost) -> tuple[pathlib.Path, ...]:
    """Directories that may hold the files of an emptyDir."""
    return host.volumes / name, memory_directory(host) / name
