"""Makes a pod's volumes, keeps them true, takes them away. Each may be done again at any time, and after a crash at any line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import shutil
from typing import Any

from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.runtime import syscalls
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
from traincrew.embedded.kubelet.volumes.pod_volumes import MountedVolumes, Volume, VolumeHost
from traincrew.embedded.kubelet.volumes.projected_files import Payload

Object = dict[str, Any]

FS_GROUP_MARKERS = "volumes.given"
"""The directory that says which claims' files were given to the pod's group: once a pod is enough."""


class _Made:
    """The volumes of one pod so far."""

    def __init__(self, pod: Object, world: ObjectSource, place: VolumeHost) -> None:
        self.pod, self.world, self.place = pod, world, place
        self.group: int | None = (pod["spec"].get("securityContext") or {}).get("fsGroup")
        self.volumes: dict[str, Volume] = {}
        self.notes: list[str] = []
        if self.group and place.single:
            self.notes.append(f"neither files nor processes of the pod belong to fsGroup {self.group}: {place.single}")
            self.group = None
        self.groups: set[int] = set() if self.group is None else {self.group}


async def mount(pod: Object, world: ObjectSource, where: VolumeHost) -> MountedVolumes:
    """Raises NotYet or Broken, of the first volume that cannot be had."""
    world.follow(pod)
    made = _Made(pod, world, where)
    _private(where.directory)
    _private(where.volumes)
    volumes = pod["spec"].get("volumes") or ()
    found = await asyncio.gather(*(_make(each, made) for each in volumes), return_exceptions=True)
    for outcome in found:
        if isinstance(outcome, BaseException):
            raise outcome
    return MountedVolumes(made.volumes, tuple(dict.fromkeys(made.notes)), tuple(sorted(made.groups)))


async def refresh(pod: Object, world: ObjectSource, where: VolumeHost) -> bool:
    """Writes what has changed in the objects that the volumes show. Returns whether anything had. Raises Unmade."""
    world.follow(pod)
    made = _Made(pod, world, where)
    changed = False
    for volume in pod["spec"].get("volumes") or ():
        if any(kind in volume for kind in projection_sources.KINDS):
            changed |= await _project(volume, made)
    return changed


async def unmount(pod: Object, world: ObjectSource, where: VolumeHost) -> None:
    """Takes away what `mount` made. What the pod's own users wrote may belong to others: then Template.remove does the rest."""
    await world.forget(pod["metadata"]["uid"])
    await asyncio.to_thread(remove, where)


def remove(where: VolumeHost) -> None:
    """Without knowing the pod any more. Raises OSError for what is left."""
    release_memory(where)
    for each in (where.volumes, where.directory / FS_GROUP_MARKERS):
        _remove(each)


def release_memory(where: VolumeHost) -> None:
    """Gives the memory back that volumes take: a pod that has ended may stay for long to be looked at."""
    with contextlib.suppress(FileNotFoundError):
        for entry in list(os.scandir(where.volumes)):
            if os.path.ismount(entry.path) and not entry.is_symlink():
                syscalls.umount(entry.path, syscalls.MNT_DETACH)
    _remove(empty_dir.memory_directory(where))
    with contextlib.suppress(OSError):
        empty_dir.memory_directory(where).parent.rmdir()


def _remove(path: pathlib.Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def _private(path: pathlib.Path) -> None:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)


async def _make(volume: Object, made: _Made) -> None:
    name = volume["name"]
    try:
        if any(kind in volume for kind in projection_sources.KINDS):
            await _project(volume, made)
        elif (source := volume.get("emptyDir")) is not None:
            path = empty_dir.create(name, source, made.place)
            await _give(name, path, made)
            made.volumes[name] = Volume(path)
        elif (source := volume.get("hostPath")) is not None:
            made.volumes[name] = Volume(host_path.resolve(source, made.place.data))
        elif "persistentVolumeClaim" in volume or "ephemeral" in volume:
            await _claim(volume, made)
        else:
            raise VolumeUnsupported(setup_failed(name, _refusal(volume)))
    except VolumeSourceError as error:
        raise VolumeNotReady(setup_failed(name, error)) from None
    except OSError as error:
        raise VolumeNotReady(setup_failed(name, _told(error))) from None


def _refusal(volume: Object) -> str:
    kind = next((key for key in volume if key != "name"), "unknown")
    if kind == "image":
        return "image volumes are not had here: images are not pulled, they stand for environments of this machine"
    offered = "configMap, secret, downwardAPI, projected, emptyDir, hostPath, persistentVolumeClaim and ephemeral"
    return f"this node has no volumes of kind {kind}: it offers {offered}"


def _told(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


async def _project(volume: Object, made: _Made) -> bool:
    name, place = volume["name"], made.place
    try:
        payload = await projection_sources.collect_payload(volume, made.pod, made.world, place)
    except VolumeSourceError as error:
        raise VolumeNotReady(setup_failed(name, error)) from None
    path = place.volumes / name
    try:
        changed = _written(path, payload, made)
    except (VolumeSourceError, OSError) as error:
        raise VolumeNotReady(setup_failed(name, _told(error) if isinstance(error, OSError) else error)) from None
    made.volumes[name] = Volume(str(path), read_only=True)
    return changed


def _written(path: pathlib.Path, payload: Payload, made: _Made) -> bool:
    path.mkdir(exist_ok=True)
    path.chmod(0o755)
    if os.geteuid():  # only root gives files away; inside the pods' own namespace there is but one user then
        payload = {name: file if file.user is None else type(file)(file.data, file.mode) for name, file in payload.items()}
    changed = atomic_writer.write(path, payload, lambda fresh: _dress(path.name, fresh, made))
    for inner in mount_nesting.nested_mount_points(path.name, made.pod):
        if not os.path.lexists(path / inner):
            os.makedirs(path / inner, mode=0o755, exist_ok=True)
    return changed


def _dress(name: str, fresh: pathlib.Path, made: _Made) -> None:
    if made.group is not None:
        _note(name, _given(str(fresh), made.group, True, made.place), made)


async def _give(name: str, path: str, made: _Made) -> None:
    """A directory of the pod's own, which nobody has written to before its first time."""
    if made.group is not None and not fs_group.is_applied(path, made.group):
        _note(name, await asyncio.to_thread(_given, path, made.group, False, made.place), made)


async def _claim(volume: Object, made: _Made) -> None:
    name, place = volume["name"], made.place
    found = await persistent_claims.resolve_claim(volume, made.pod, made.world)
    read_only = bool((volume.get("persistentVolumeClaim") or {}).get("readOnly"))
    if found.group is not None:
        made.groups.add(found.group)
    policy = (made.pod["spec"].get("securityContext") or {}).get("fsGroupChangePolicy") or "Always"
    if found.managed and made.group is not None and not read_only:
        marker = place.directory / FS_GROUP_MARKERS / name
        fits = policy == "OnRootMismatch" and fs_group.is_applied(found.path, made.group)
        if not marker.exists() and not fits:
            _note(name, await asyncio.to_thread(_given, found.path, made.group, False, place), made)
        marker.parent.mkdir(exist_ok=True)
        marker.touch()
    made.volumes[name] = Volume(found.path, read_only)


def _given(path: str, group: int, read_only: bool, place: VolumeHost) -> str:
    """Gives the files to the group; returns why not, or nothing."""
    if place.isolation is Isolation.USER and place.userns:
        return fs_group.apply_in_namespace(place.userns, path, group, read_only)
    if group == os.getegid() or os.geteuid() == 0:
        fs_group.apply(path, group, read_only)
        return ""
    return "only root gives files to other groups"


def _note(name: str, why: str, made: _Made) -> None:
    if why:
        made.notes.append(f'volume "{name}" does not belong to fsGroup {made.group}: {why}')
