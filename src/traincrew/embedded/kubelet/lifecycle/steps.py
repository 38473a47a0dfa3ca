"""Steps for a pod. Every step may be executed twice: the daemon may die after a step and before it is recorded.

Steps of one result may be executed concurrently. StartContainer steps are started in the given order.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from traincrew.embedded.kubelet.lifecycle.observed import HookName, ProbeKind

Handler = Mapping[str, Any]
"""One of exec, httpGet, tcpSocket, grpc and sleep, as in the pod's spec."""


@dataclasses.dataclass(frozen=True, slots=True)
class MountVolumes:
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class CreateSandbox:
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class ResolveImage:
    """Find the environment that the container's image is mapped to. Quick, so it leaves no mark in the observed state."""

    container: str


@dataclasses.dataclass(frozen=True, slots=True)
class StartContainer:
    container: str
    attempt: int
    backoff: int = 0
    """Seconds, for `ObservedContainer.backoff`."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunHook:
    """The grace period starts with the preStop hook."""

    container: str
    attempt: int
    hook: HookName
    handler: Handler
    timeout: float | None = None
    """Seconds: the rest of the grace period. None: no limit (postStart)."""
    reason: str = ""
    """preStop: why the container is stopped."""
    grace_period: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class TerminateContainer:
    """Send SIGTERM. KillContainer follows when the grace period is over."""

    container: str
    attempt: int
    grace_period: float
    """Seconds that remain."""
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class KillContainer:
    """Send SIGKILL to every process of the container."""

    container: str
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class RunProbe:
    container: str
    attempt: int
    kind: ProbeKind
    handler: Handler
    timeout: float


@dataclasses.dataclass(frozen=True, slots=True)
class ReadLogTail:
    """For terminationMessagePolicy FallbackToLogsOnError: the last 80 lines, at most 2048 bytes. Leaves no mark."""

    container: str
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class StopSandbox:
    """Stop the shim and remove network, mounts, cgroups and volumes. Exit records and logs are kept."""


@dataclasses.dataclass(frozen=True, slots=True)
class RemovePod:
    """After the status of the same result is written: delete the pod object (grace period 0, uid as precondition) and then the
    pod's state directory."""


Step = (
    MountVolumes
    | CreateSandbox
    | ResolveImage
    | StartContainer
    | RunHook
    | TerminateContainer
    | KillContainer
    | RunProbe
    | ReadLogTail
    | StopSandbox
    | RemovePod
)


@dataclasses.dataclass(frozen=True, slots=True)
class PodEvent:
    key: str
    """Names the Event object together with the pod's uid, so that an event is recorded once."""
    type: str
    """Normal or Warning."""
    reason: str
    message: str
    container: str = ""
    field_path: str = ""
    """`spec.containers{main}`, for involvedObject.fieldPath."""


@dataclasses.dataclass(frozen=True, slots=True)
class NextSteps:
    steps: tuple[Step, ...]
    status: dict[str, Any]
    """The whole desired PodStatus."""
    sync_at: dt.datetime | None = None
    """When time alone changes the result. None: only a new observation does."""
    events: tuple[PodEvent, ...] = ()
    event_keys: frozenset[str] = frozenset()
    """The new `ObservedPod.recorded_events`."""
