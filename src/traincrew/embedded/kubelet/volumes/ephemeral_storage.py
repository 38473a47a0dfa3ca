"""Measures the ephemeral storage of a pod against its limits. The messages are those of the kubelet.

Without root, directories that are not readable to the user of the kubelet are not counted.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable

from traincrew.apimachinery import pod_resources, quantities
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.file_trees import walk
from traincrew.embedded.kubelet.volumes import empty_dir
from traincrew.embedded.kubelet.volumes.pod_volumes import VolumeHost

RESOURCE = "ephemeral-storage"
_BLOCK = 512


def has_limits(pod: Object) -> bool:
    """Whether the pod has a limit of ephemeral storage."""
    volumes = pod["spec"].get("volumes") or ()
    return any(empty_dir.size_limit(volume) for volume in volumes) or RESOURCE in _limits(pod)


def exceeded_limit(pod: Object, host: VolumeHost, logs: pathlib.Path) -> str:
    """The eviction message for the limit that the pod exceeds, or an empty string. Walks directories, so it is slow.

    logs: of the pod, with a directory for each container.
    """
    for volume in pod["spec"].get("volumes") or ():
        limit = empty_dir.size_limit(volume)
        if limit and sum(map(disk_usage, empty_dir.candidate_paths(volume["name"], host))) > quantities.value(limit):
            return f'Usage of EmptyDir volume "{volume["name"]}" exceeds the limit "{limit}". '
    return _exceeded_ephemeral(pod, host, logs) if RESOURCE in _limits(pod) else ""


def _exceeded_ephemeral(pod: Object, host: VolumeHost, logs: pathlib.Path) -> str:
    spec = pod["spec"]
    names = [container["name"] for container in (*(spec.get("initContainers") or ()), *spec["containers"])]
    own = {name: disk_usage(host.directory / "layers" / name) + disk_usage(logs / name) for name in names}
    on_disk = [volume["name"] for volume in spec.get("volumes") or () if _is_local(volume)]
    total = sum(own.values()) + sum(disk_usage(host.volumes / name) for name in on_disk)
    limit = _limits(pod)[RESOURCE]
    if total > quantities.value(limit):
        return f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
    for container in spec["containers"]:
        own_limit = ((container.get("resources") or {}).get("limits") or {}).get(RESOURCE)
        if own_limit and own[container["name"]] > quantities.value(own_limit) > 0:
            return f'Container {container["name"]} exceeded its local ephemeral storage limit "{own_limit}". '
    return ""


def _is_local(volume: Object) -> bool:
    scratch_space = volume.get("emptyDir")
    return "configMap" in volume or (scratch_space is not None and not scratch_space.get("medium"))


def _limits(pod: Object) -> dict[str, str]:
    spec = pod["spec"]
    lists = {
        field: [{**container, "resources": container.get("resources") or {}} for container in spec.get(field) or ()]
        for field in ("containers", "initContainers")
    }
    return pod_resources.limits({**spec, **lists})


def disk_usage(path: pathlib.Path) -> int:
    """Bytes on the disk, including directories. Hard links count once; mounts are left out."""
    try:
        top = os.lstat(path)
        entries = walk.walk(path)
        return (top.st_blocks + _blocks(entries, top.st_dev)) * _BLOCK
    except OSError:
        return 0


def _blocks(entries: Iterable[walk.TreeEntry], device: int) -> int:
    total, seen = 0, set[int]()
    for _, _, is_directory, status in entries:
        if status.st_dev != device or status.st_ino in seen:
            continue
        total += status.st_blocks
        # Without blocks it counts nothing each time, and the set stays small for a volume of millions of empty files.
        if status.st_nlink > 1 and status.st_blocks and not is_directory:
            seen.add(status.st_ino)
    return total
