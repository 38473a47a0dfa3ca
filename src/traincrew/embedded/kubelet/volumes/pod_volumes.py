"""Where a pod's volumes are made, and what came of it."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from traincrew.embedded.kubelet.runtime.spec import Isolation


@dataclasses.dataclass(frozen=True)
class VolumeHost:
    directory: pathlib.Path
    """The pod's own, closed to others."""
    data: pathlib.Path | None = None
    """The cluster's directory: no hostPath leads into it."""
    isolation: Isolation = Isolation.ROOT
    userns: int = 0
    """Level USER: a process in the user namespace of the pods; 0: there is none."""
    single: str = ""
    """Level USER: why there is but one user and group, and what would help; empty: there are others."""
    allocatable: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The node's, for containers that have no limits of their own."""

    @property
    def volumes(self) -> pathlib.Path:
        return self.directory / "volumes"


@dataclasses.dataclass(frozen=True)
class Volume:
    """One that containers may mount."""

    path: str
    read_only: bool = False
    """Whatever the mount says."""
    group: int | None = None
    """The group that a directory made in it belongs to."""


@dataclasses.dataclass(frozen=True)
class MountedVolumes:
    volumes: Mapping[str, Volume] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What was asked for and cannot be had, but does not stop the pod: for an event."""
    groups: tuple[int, ...] = ()
    """Supplementary groups that give access: those of the volumes, and fsGroup."""

    def path(self, volume: str) -> str:
        return self.volumes[volume].path
