"""A pod's volumes, made real below its directory, and what else a container is told of the cluster: its environment variables."""

from __future__ import annotations

from traincrew.embedded.kubelet.volumes.container_mounts import mounts_of
from traincrew.embedded.kubelet.volumes.errors import Broken, NotYet, Unmade
from traincrew.embedded.kubelet.volumes.mounter import clear, mount, refresh, release, unmount
from traincrew.embedded.kubelet.volumes.pod_volumes import Mounted, Place, Volume

__all__ = [
    "Broken",
    "Mounted",
    "NotYet",
    "Place",
    "Unmade",
    "Volume",
    "clear",
    "mount",
    "mounts_of",
    "refresh",
    "release",
    "unmount",
]
