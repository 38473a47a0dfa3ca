"""The environment that replaces an image. PURE."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from traincrew.embedded.kubelet.runtime.spec import Mount


@dataclasses.dataclass(frozen=True)
class Environment:
    path: tuple[str, ...] = ()
    """Entries that precede the default PATH."""
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Environment variables. Those of the container take precedence."""
    mounts: tuple[Mount, ...] = ()
    workdir: str = ""
    command: tuple[str, ...] = ()
    """The default command of a container without one, followed by the container's arguments."""
    source: str = ""
    """Describes the environment in events."""
    mapped: bool = True
    """Whether the image map names the environment. False: the default environment, which an event reports."""


@dataclasses.dataclass(frozen=True)
class EnvironmentNotFound:
    message: str
    reason: str = "ErrImagePull"
    """Or InvalidImageName."""
