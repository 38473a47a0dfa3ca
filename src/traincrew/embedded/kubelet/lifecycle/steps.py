"""What is to be done next for a pod. Each is safe to carry out twice: a daemon may die after doing it and before noting it.

Steps of one answer may be carried out at the same time, apart from Starts, which are begun in the order given.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from traincrew.embedded.kubelet.lifecycle.facts import HookName, ProbeKind

Handler = Mapping[str, Any]
"""One of exec, httpGet, tcpSocket, grpc, sleep, as the pod has it."""


@dataclasses.dataclass(frozen=True, slots=True)
class MountVolumes:
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class MakeSandbox:
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class Resolve:
    """Find the environment that stands in for the container's image. Quick: carried out in place, so that it bears no mark."""

    container: str


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    container: str
    attempt: int
    backoff: int = 0
    """Seconds; to be given back as ContainerFacts.backoff."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunHook:
    """preStop: the grace period begins with it."""

    container: str
    attempt: int
    which: HookName
    handler: Handler
    timeout: float | None = None
    """Seconds after which it is given up: what is left of the grace period. None: it may take its time (postStart)."""
    reason: str = ""
    """preStop: why the container is to end."""
    grace_seconds: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Stop:
    """Send TERM. A KILL follows as a step of its own when the grace period is over."""

    container: str
    attempt: int
    grace_seconds: float
    """What is left of the grace period."""
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Kill:
    """Send KILL to every process of the container."""

    container: str
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class Probe:
    container: str
    attempt: int
    kind: ProbeKind
    handler: Handler
    timeout: float


@dataclasses.dataclass(frozen=True, slots=True)
class ReadLogTail:
    """For terminationMessagePolicy FallbackToLogsOnError: the last 80 lines, at most 2048 bytes. Carried out in place, too."""

    container: str
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class EndSandbox:
    """End the shim, its network, mounts, cgroups and volumes. Exit records and logs stay."""


@dataclasses.dataclass(frozen=True, slots=True)
class Forget:
    """Once the status of the same answer is written: delete the pod object (grace 0, uid as precondition), then its directory."""


Step = MountVolumes | MakeSandbox | Resolve | Start | RunHook | Stop | Kill | Probe | ReadLogTail | EndSandbox | Forget


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    key: str
    """The same key is the same happening: an Event object named by pod uid and key cannot be recorded twice."""
    kind: str
    """Normal or Warning."""
    reason: str
    message: str
    container: str = ""
    field_path: str = ""
    """`spec.containers{main}`, for involvedObject.fieldPath."""


@dataclasses.dataclass(frozen=True, slots=True)
class Steps:
    steps: tuple[Step, ...]
    status: dict[str, Any]
    """The whole PodStatus wanted; to be written if it differs from the one in the API."""
    look_again: dt.datetime | None = None
    """When the same facts would give other steps; None: only new facts will."""
    events: tuple[Event, ...] = ()
    told: frozenset[str] = frozenset()
    """To be Facts.told from now on, once the events are recorded."""
