"""The observed state of a pod on this node: the counterpart of kuberuntime's PodStatus. It holds observations, no decisions.

`transitions` sets the marks of steps in progress. Marks and probe results are lost when the daemon dies. Decisions then fall
back to the reported status, to deletionTimestamp and to the attempt number.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal

ProbeKind = Literal["startup", "readiness", "liveness"]
PROBE_KINDS: tuple[ProbeKind, ...] = ("startup", "readiness", "liveness")
HookName = Literal["postStart", "preStop"]

HOOK_DONE = "done"
HOOK_RUNNING = "running"
"""Values of `post_start` and `pre_stop` besides None (not started). Any other text is the error of the hook."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExitStatus:
    """From the exit record that the shim has written."""

    code: int
    """As the kubelet reports it: 128 + signal, 137 for SIGKILL."""
    signal: int = 0
    oom_killed: bool = False
    """Whether the cgroup's oom_kill counter rose, whatever the exit code."""
    started: dt.datetime | None = None
    finished: dt.datetime | None = None
    message: str = ""
    """The content of the termination message file."""


@dataclasses.dataclass(frozen=True, slots=True)
class Starting:
    """A StartContainer step is in progress."""

    attempt: int
    since: dt.datetime
    previous_failure: StartFailure | None = None
    """The failure that this start retries."""


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    attempt: int
    started: dt.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Exited:
    attempt: int
    status: ExitStatus | None
    """None: the container ran, but its exit record is lost."""
    stop_reason: str = ""
    """`Stopping.reason`. Empty: the container exited by itself."""
    log_tail: str | None = None
    """The result of a ReadLogTail step: at most 80 lines and 2048 bytes. None: not read."""
    post_start_error: str = ""
    """The error of the postStart hook, if it failed."""


@dataclasses.dataclass(frozen=True, slots=True)
class StartFailure:
    """The container could not be started: nothing runs.

    Failures before the container is created (ErrImagePull, ErrImageNeverPull, InvalidImageName, CreateContainerConfigError,
    CreateContainerError) do not consume the attempt number. RunContainerError and StartError do.
    """

    attempt: int
    reason: str
    message: str
    at: dt.datetime
    count: int = 1
    """Consecutive failures, this one included."""


RuntimeState = Starting | Running | Exited | StartFailure


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedImage:
    """The environment that the container's image is mapped to."""

    pulled_message: str = ""
    """The message of the Pulled event. Empty: the kubelet's message for an image that is present."""
    image_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeResults:
    """The results of one probe of the container's current attempt."""

    successes: int = 0
    """Consecutive successes up to the last probe."""
    failures: int = 0
    last_started_at: dt.datetime | None = None
    """The next probe is due one period later."""
    last_message: str = ""
    """The message of the last probe if it failed, as the kubelet words it: `HTTP probe failed with statuscode: 500`. Its warning
    if it passed."""
    errored: bool = False
    """The last probe could not be executed: it is neither success nor failure."""
    result: bool | None = None
    """Success or failure after the thresholds. None: not known yet."""
    running_since: dt.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Stopping:
    """The container is being terminated, and its grace period runs."""

    since: dt.datetime
    grace_period: float
    reason: str
    term_sent_at: dt.datetime | None = None
    """None: SIGTERM was not sent, because the preStop hook runs."""
    kill_sent_at: dt.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ObservedContainer:
    state: RuntimeState | None = None
    history: tuple[Exited | StartFailure, ...] = ()
    """The attempts before the current one, the latest first. One is enough."""
    image: ResolvedImage | StartFailure | None = None
    """None: the image has not been resolved yet."""
    probes: Mapping[ProbeKind, ProbeResults] = dataclasses.field(default_factory=dict)
    post_start: str | None = None
    pre_stop: str | None = None
    stopping: Stopping | None = None
    backoff: int | None = None
    """`StartContainer.backoff` of the current attempt. None: lost, so it is computed from the attempt number."""


@dataclasses.dataclass(frozen=True, slots=True)
class CreatingSandbox:
    """A CreateSandbox step is in progress."""

    since: dt.datetime
    failures: int = 0
    """Consecutive failures before this step."""


@dataclasses.dataclass(frozen=True, slots=True)
class SandboxReady:
    ip: str
    since: dt.datetime
    ips: tuple[str, ...] = ()
    """All addresses if there is more than one. The first is `ip`."""


@dataclasses.dataclass(frozen=True, slots=True)
class SandboxFailure:
    """The sandbox could not be created. It is retried."""

    message: str
    at: dt.datetime
    count: int = 1


STOPPED, LOST, REBOOTED = "stopped", "lost", "rebooted"


@dataclasses.dataclass(frozen=True, slots=True)
class SandboxGone:
    """The pod had a sandbox, which no longer exists."""

    reason: str
    """STOPPED: by a StopSandbox step. LOST: the shim is gone. REBOOTED: the machine was rebooted."""
    at: dt.datetime | None = None
    """When the kubelet noticed it."""


Sandbox = CreatingSandbox | SandboxReady | SandboxFailure | SandboxGone


@dataclasses.dataclass(frozen=True, slots=True)
class MountingVolumes:
    """A MountVolumes step is in progress."""

    since: dt.datetime
    failures: int = 0
    """Consecutive failures before this step."""


@dataclasses.dataclass(frozen=True, slots=True)
class VolumesMounted:
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class MountFailure:
    """The volumes could not be mounted. They are retried after a back-off, or at once if `ObservedPod.volumes` is set to None."""

    reason: str
    """The reason of the event: FailedMount or FailedAttachVolume."""
    message: str
    at: dt.datetime
    count: int = 1


Volumes = MountingVolumes | VolumesMounted | MountFailure


@dataclasses.dataclass(frozen=True, slots=True)
class Rejection:
    """The kubelet does not admit the pod: OutOfcpu, NodeAffinity, UnexpectedAdmissionError, …"""

    reason: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Eviction:
    """The kubelet terminates the pod: storage limit exceeded, node shutdown. The field names are those of evicted.json."""

    reason: str
    """The pod's reason: Evicted, Terminated, …"""
    message: str
    target: str = "TerminationByKubelet"
    """The reason of the DisruptionTarget condition."""
    grace: float | None = None
    """Seconds. None: the grace period of the pod."""


@dataclasses.dataclass(frozen=True, slots=True)
class ObservedPod:
    sandbox: Sandbox | None = None
    volumes: Volumes | None = None
    containers: Mapping[str, ObservedContainer] = dataclasses.field(default_factory=dict)
    """By name, with init and ephemeral containers. A missing container was never started."""
    host_ips: tuple[str, ...] = ()
    first_seen: dt.datetime | None = None
    """When the kubelet first saw the pod: its startTime, unless the status has one."""
    rejection: Rejection | None = None
    eviction: Eviction | None = None
    adopted: bool = False
    """A previous daemon started the pod: marks of steps in progress may be missing."""
    rebooted: bool = False
    """The boot id has changed since the sandbox was created."""
    object_deleted: bool = False
    """The pod object is no longer in the API: no status is written, the pod is only cleaned up."""
    stopping_sandbox_since: dt.datetime | None = None
    """A StopSandbox step is in progress."""
    recorded_events: frozenset[str] = frozenset()
    """`NextSteps.event_keys` of the last sync."""
    last_status: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """`NextSteps.status` of the last sync. The API server may not have it yet."""

    def container(self, name: str) -> ObservedContainer:
        return self.containers.get(name, _NEVER_STARTED)


_NEVER_STARTED = ObservedContainer()
