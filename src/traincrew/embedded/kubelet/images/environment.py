"""What an image's name stands for. PURE."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from traincrew.embedded.kubelet.runtime.spec import Mount


@dataclasses.dataclass(frozen=True)
class Environment:
    path: tuple[str, ...] = ()
    """Entries of PATH that come before the usual ones."""
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Variables; those of the container win."""
    mounts: tuple[Mount, ...] = ()
    workdir: str = ""
    command: tuple[str, ...] = ()
    """What runs if the container names no command; its arguments follow it."""
    source: str = ""
    """Words for an event: what stands in for the image."""
    own: bool = True
    """Whether somebody said so; else it is the default one, and the pod's user is told."""


@dataclasses.dataclass(frozen=True)
class EnvironmentNotFound:
    message: str
    reason: str = "ErrImagePull"
    """Or InvalidImageName."""
