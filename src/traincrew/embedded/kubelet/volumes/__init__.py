"""Volumes of pods: set up below the pod's directory, kept up to date, torn down."""

from __future__ import annotations

from traincrew.embedded.kubelet.volumes.container_mounts import build_mounts
from traincrew.embedded.kubelet.volumes.errors import VolumeError, VolumeNotReady, VolumeUnsupported
from traincrew.embedded.kubelet.volumes.mounter import Remove, mount, refresh, release_memory, unmount
from traincrew.embedded.kubelet.volumes.pod_volumes import MountableVolume, MountedVolumes, VolumeHost

__all__ = [
    "MountableVolume",
    "MountedVolumes",
    "Remove",
    "VolumeError",
    "VolumeHost",
    "VolumeNotReady",
    "VolumeUnsupported",
    "build_mounts",
    "mount",
    "refresh",
    "release_memory",
    "unmount",
]
