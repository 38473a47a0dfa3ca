"""The directories of a pod's volumes on the host, and the mounted volumes."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from traincrew.embedded.kubelet.runtime.spec import Isolation


@dataclasses.dataclass(frozen=True)
class VolumeHost:
    directory: pathlib.Path
    """The directory of the pod, mode 0700."""
    data: pathlib.Path | None = None
    """The cluster's data directory, which hostPath must not expose."""
    isolation: Isolation = Isolation.ROOT
    userns: int = 0
    """Level USER: the id of a process in the user namespace of the pods; else 0."""
    single_id_reason: str = ""
    """Level USER: why only one user and group is mapped, and the remedy; empty: more ids are mapped."""
    allocatable: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Allocatable of the node, for containers without limits."""

    @property
    def volumes(self) -> pathlib.Path:
        return self.directory / "volumes"


@dataclasses.dataclass(frozen=True)
class MountableVolume:
    """A volume that containers may mount."""

    path: str
    read_only: bool = False
    """Applies even if the volumeMount does not say so."""
    group: int | None = None
    """The group of new directories in it."""
    host_path: bool = False
    """The pod names the path."""


@dataclasses.dataclass(frozen=True)
class MountedVolumes:
    volumes: Mapping[str, MountableVolume] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Warnings for an event: features that do not apply, but do not stop the pod."""
    groups: tuple[int, ...] = ()
    """Supplementary groups of the volumes, and fsGroup."""

    def path(self, volume: str) -> str:
        return self.volumes[volume].path
