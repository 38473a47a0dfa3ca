"""Sets up, refreshes and tears down the volumes of a pod. Every function is idempotent, also after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
from collections.abc import Awaitable, Callable

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import Resolve, RootDirectory
from traincrew.embedded.kubelet.runtime.spec import Isolation
from traincrew.embedded.kubelet.volumes import (
    atomic_writer,
    empty_dir,
    fs_group,
    host_path,
    mount_nesting,
    persistent_claims,
    projection_sources,
)
from traincrew.embedded.kubelet.volumes.errors import (
    VolumeNotReady,
    VolumeSourceError,
    VolumeUnsupported,
    setup_failed,
)
from traincrew.embedded.kubelet.volumes.pod_volumes import MountableVolume, MountedVolumes, VolumeHost
from traincrew.embedded.kubelet.volumes.projected_files import Payload

Remove = Callable[[pathlib.Path], Awaitable[None]]
"""Removes a tree with the rights of the pods, who may own files in it. Not in this process: a tree may have millions of files."""

FS_GROUP_MARKERS = "volumes.given"
"""Directory of markers: fsGroup is applied to a claim once for each pod. The name is fixed: data directories have it."""


class _PodMounts:
    """The volumes of one pod that are set up so far."""

    def __init__(self, pod: Object, objects: ObjectSource, host: VolumeHost) -> None:
        self.pod, self.objects, self.host = pod, objects, host
        self.group: int | None = (pod["spec"].get("securityContext") or {}).get("fsGroup")
        self.volumes: dict[str, MountableVolume] = {}
        self.notes: list[str] = []
        if self.group and host.single_id_reason:
            self.notes.append(f"fsGroup {self.group} is not applied: {host.single_id_reason}")
            self.group = None
        self.groups: set[int] = set() if self.group is None else {self.group}


async def mount(pod: Object, objects: ObjectSource, host: VolumeHost) -> MountedVolumes:
    """Raises VolumeNotReady or VolumeUnsupported, for the first volume that cannot be mounted."""
    objects.register_pod(pod)
    mounts = _PodMounts(pod, objects, host)
    _private(host.directory)
    _private(host.volumes)
    volumes = pod["spec"].get("volumes") or ()
    results = await asyncio.gather(*(_set_up(each, mounts) for each in volumes), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return MountedVolumes(mounts.volumes, tuple(dict.fromkeys(mounts.notes)), tuple(sorted(mounts.groups)))


async def refresh(pod: Object, objects: ObjectSource, host: VolumeHost) -> bool:
    """Updates projected volumes. Returns whether anything changed. Raises VolumeError."""
    objects.register_pod(pod)
    mounts = _PodMounts(pod, objects, host)
    changed = False
    for volume in pod["spec"].get("volumes") or ():
        if any(kind in volume for kind in projection_sources.KINDS):
            changed |= await _project(volume, mounts)
    return changed


async def unmount(pod: Object, objects: ObjectSource, host: VolumeHost, remove: Remove) -> None:
    """Releases the volumes. Their directories are removed with that of the pod. Raises OSError."""
    await objects.unregister_pod(pod["metadata"]["uid"])
    await release_memory(host, remove)


async def release_memory(host: VolumeHost, remove: Remove) -> None:
    """Releases the memory of volumes: an ended pod may exist for a long time. Raises OSError."""
    memory = empty_dir.memory_directory(host)
    if await asyncio.to_thread(_unmount_memory, host):
        await remove(memory)
        with contextlib.suppress(OSError):
            memory.parent.rmdir()


def _unmount_memory(host: VolumeHost) -> bool:
    """Returns whether the pod has volumes in shared memory, which are directories."""
    with contextlib.suppress(FileNotFoundError):
        for entry in list(os.scandir(host.volumes)):
            if os.path.ismount(entry.path) and not entry.is_symlink():
                syscalls.umount(entry.path, syscalls.MNT_DETACH)
    return os.path.lexists(empty_dir.memory_directory(host))


def _private(path: pathlib.Path) -> None:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)


async def _set_up(volume: Object, mounts: _PodMounts) -> None:
    name = volume["name"]
    try:
        if any(kind in volume for kind in projection_sources.KINDS):
            await _project(volume, mounts)
        elif (source := volume.get("emptyDir")) is not None:
            path = empty_dir.create(name, source, mounts.host)
            await _apply_to_directory(name, path, mounts)
            mounts.volumes[name] = MountableVolume(path)
        elif (source := volume.get("hostPath")) is not None:
            path = await asyncio.to_thread(host_path.resolve, source, mounts.host.data)
            mounts.volumes[name] = MountableVolume(path, host_path=True)
        elif "persistentVolumeClaim" in volume or "ephemeral" in volume:
            await _claim(volume, mounts)
        else:
            raise VolumeUnsupported(setup_failed(name, _unsupported(volume)))
    except VolumeSourceError as error:
        raise VolumeNotReady(setup_failed(name, error)) from None
    except OSError as error:
        raise VolumeNotReady(setup_failed(name, _message(error))) from None


def _unsupported(volume: Object) -> str:
    kind = next((key for key in volume if key != "name"), "unknown")
    if kind == "image":
        return "image volumes are not supported: no image is pulled on this node"
    offered = "configMap, secret, downwardAPI, projected, emptyDir, hostPath, persistentVolumeClaim and ephemeral"
    return f"volumes of kind {kind} are not supported. This node supports {offered}."


def _message(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


async def _project(volume: Object, mounts: _PodMounts) -> bool:
    name, host = volume["name"], mounts.host
    try:
        payload = await projection_sources.collect_payload(volume, mounts.pod, mounts.objects, host)
    except VolumeSourceError as error:
        raise VolumeNotReady(setup_failed(name, error)) from None
    path = host.volumes / name
    try:
        changed = await asyncio.to_thread(_write_payload, path, payload, mounts)
    except (VolumeSourceError, OSError) as error:
        raise VolumeNotReady(setup_failed(name, _message(error) if isinstance(error, OSError) else error)) from None
    mounts.volumes[name] = MountableVolume(str(path), read_only=True)
    return changed


def _write_payload(path: pathlib.Path, payload: Payload, mounts: _PodMounts) -> bool:
    path.mkdir(exist_ok=True)
    path.chmod(0o755)
    if os.geteuid():  # only root can change the owner of a file
        payload = {name: file if file.user is None else type(file)(file.data, file.mode) for name, file in payload.items()}
    changed = atomic_writer.write(path, payload, lambda fresh: _apply_to_payload(path.name, fresh, mounts))
    with contextlib.closing(RootDirectory(str(path), Resolve.BENEATH)) as directory:
        for inner in mount_nesting.nested_mount_points(path.name, mounts.pod):
            os.close(directory.open(inner, make="directory"))
    return changed


def _apply_to_payload(name: str, fresh: pathlib.Path, mounts: _PodMounts) -> None:
    if mounts.group is not None:
        _record_failure(name, _apply_fs_group(str(fresh), mounts.group, True, mounts.host), mounts)


async def _apply_to_directory(name: str, path: str, mounts: _PodMounts) -> None:
    """Applies fsGroup to an emptyDir, which is empty at first."""
    if mounts.group is not None and not fs_group.is_applied(path, mounts.group):
        _record_failure(name, await asyncio.to_thread(_apply_fs_group, path, mounts.group, False, mounts.host), mounts)


async def _claim(volume: Object, mounts: _PodMounts) -> None:
    name, host = volume["name"], mounts.host
    claimed = await persistent_claims.resolve_claim(volume, mounts.pod, mounts.objects, host.data)
    read_only = bool((volume.get("persistentVolumeClaim") or {}).get("readOnly"))
    if claimed.group is not None:
        mounts.groups.add(claimed.group)
    policy = (mounts.pod["spec"].get("securityContext") or {}).get("fsGroupChangePolicy") or "Always"
    if claimed.managed and mounts.group is not None and not read_only:
        marker = host.directory / FS_GROUP_MARKERS / name
        fits = policy == "OnRootMismatch" and fs_group.is_applied(claimed.path, mounts.group)
        if not marker.exists() and not fits:
            _record_failure(name, await asyncio.to_thread(_apply_fs_group, claimed.path, mounts.group, False, host), mounts)
        marker.parent.mkdir(exist_ok=True)
        marker.touch()
    mounts.volumes[name] = MountableVolume(claimed.path, read_only)


def _apply_fs_group(path: str, group: int, read_only: bool, host: VolumeHost) -> str:
    """Applies fsGroup. Returns the reason if it cannot, else an empty string."""
    if host.isolation is Isolation.USER and host.userns:
        return fs_group.apply_in_namespace(host.userns, path, group, read_only)
    if group == os.getegid() or os.geteuid() == 0:
        fs_group.apply(path, group, read_only)
        return ""
    return "only root can change the group of files"


def _record_failure(name: str, why: str, mounts: _PodMounts) -> None:
    if why:
        mounts.notes.append(f'fsGroup {mounts.group} is not applied to volume "{name}": {why}')
