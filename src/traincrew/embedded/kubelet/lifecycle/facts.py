"""What is known of a pod's processes. Whoever observes writes it down here; nothing in it is decided.

Only `changes.py` need write the marks of what is under way. What a daemon forgets when it dies (probe results, marks) may be
missing: decisions then fall back on the pod's last status, on its deletionTimestamp and on the attempt's number.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Literal

ProbeKind = Literal["startup", "readiness", "liveness"]
PROBE_KINDS: tuple[ProbeKind, ...] = ("startup", "readiness", "liveness")
HookName = Literal["postStart", "preStop"]

DONE = "done"
RUNNING = "running"
"""What `post_start` and `pre_stop` say besides None (not begun); any other text is the error that the hook ended with."""


@dataclasses.dataclass(frozen=True, slots=True)
class Exit:
    """How a container ended, from its durable record."""

    code: int
    """As the kubelet shows it: 128 + signal, 137 for KILL."""
    signal: int = 0
    oom: bool = False
    """Whether the cgroup's oom_kill counter rose, whatever the code."""
    started: dt.datetime | None = None
    finished: dt.datetime | None = None
    message: str = ""
    """What the container left in its termination message file."""


@dataclasses.dataclass(frozen=True, slots=True)
class Starting:
    """A Start step is being carried out."""

    attempt: int
    since: dt.datetime
    after: Refused | None = None
    """The refusal that it is tried again after."""


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    attempt: int
    started: dt.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    attempt: int
    exit: Exit | None
    """None: it ran, but its record is lost."""
    stopped: str = ""
    """Why the node had stopped it (the reason of its Stopping); empty if it ended by itself."""
    log_tail: str | None = None
    """The end of its log (at most 80 lines and 2048 bytes), once a ReadLogTail step was carried out; an empty log gives ""."""
    post_start: str = ""
    """The error of its postStart hook, if that failed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """It could not be started: nothing runs.

    Reasons before anything was made (ErrImagePull, ErrImageNeverPull, InvalidImageName, CreateContainerConfigError,
    CreateContainerError) leave the attempt's number free; RunContainerError and StartError use it up.
    """

    attempt: int
    reason: str
    message: str
    at: dt.datetime
    times: int = 1
    """How often in a row, this one included."""


Container = Starting | Running | Ended | Refused


@dataclasses.dataclass(frozen=True, slots=True)
class Environment:
    """What stands in for the container's image."""

    words: str = ""
    """For the Pulled event; empty: the kubelet's words for an image that is present."""
    image_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeFacts:
    """The results of one probe of the container's current attempt."""

    successes: int = 0
    """In a row, up to the last one."""
    failures: int = 0
    last_at: dt.datetime | None = None
    """When the last one was begun: the next is due a period later."""
    last_message: str = ""
    """Of the last one if it failed, in the kubelet's words: `HTTP probe failed with statuscode: 500`."""
    errored: bool = False
    """The last one could not be made at all: it counts neither way."""
    verdict: bool | None = None
    """What the thresholds have made of the results; None: nothing yet."""
    under_way: dt.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Stopping:
    """The container is to end: its grace period runs."""

    since: dt.datetime
    grace: float
    reason: str
    signalled: dt.datetime | None = None
    """When TERM was sent; None while its preStop hook is awaited."""
    killed: dt.datetime | None = None
    """When KILL was sent."""


@dataclasses.dataclass(frozen=True, slots=True)
class ContainerFacts:
    last: Container | None = None
    history: tuple[Ended | Refused, ...] = ()
    """The attempts before `last`, the latest first; one suffices."""
    environment: Environment | Refused | None = None
    """None: the image has not been resolved yet."""
    probes: Mapping[ProbeKind, ProbeFacts] = dataclasses.field(default_factory=dict)
    post_start: str | None = None
    pre_stop: str | None = None
    stopping: Stopping | None = None
    backoff: int | None = None
    """The `backoff` of the Start step that made `last`. None: forgotten; it is then taken from the attempt's number."""


@dataclasses.dataclass(frozen=True, slots=True)
class Making:
    """A MakeSandbox step is being carried out."""

    since: dt.datetime
    tries: int = 0
    """How often it has failed before."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ready:
    ip: str
    since: dt.datetime
    ips: tuple[str, ...] = ()
    """All of them where there is more than one; the first is `ip`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unmade:
    """The sandbox could not be made; it is tried again."""

    message: str
    at: dt.datetime
    times: int = 1


ENDED, LOST, REBOOTED = "ended", "lost", "rebooted"


@dataclasses.dataclass(frozen=True, slots=True)
class Gone:
    """There was a sandbox and is none any more."""

    reason: str
    """ENDED: an EndSandbox step was carried out. LOST: the shim vanished. REBOOTED: the machine was started anew."""
    at: dt.datetime | None = None
    """When it was noticed."""


Sandbox = Making | Ready | Unmade | Gone


@dataclasses.dataclass(frozen=True, slots=True)
class Mounting:
    """A MountVolumes step is being carried out."""

    since: dt.datetime
    tries: int = 0
    """How often it has failed before."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mounted:
    pass


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """The volumes cannot be had yet. It is tried again after a while; set `Facts.volumes` to None to have it tried at once."""

    reason: str
    """Of the event: FailedMount or FailedAttachVolume."""
    message: str
    at: dt.datetime
    times: int = 1


Volumes = Mounting | Mounted | Waiting


@dataclasses.dataclass(frozen=True, slots=True)
class Rejection:
    """The node does not take the pod in: OutOfcpu, NodeAffinity, UnexpectedAdmissionError, …"""

    reason: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Eviction:
    """The node ends the pod on its own account: too little memory, the node is being shut down."""

    reason: str
    """The pod's: Evicted, Terminated, …"""
    message: str
    target: str = "TerminationByKubelet"
    """The reason of the DisruptionTarget condition."""
    grace: float | None = None
    """None: the pod's own."""


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    sandbox: Sandbox | None = None
    volumes: Volumes | None = None
    containers: Mapping[str, ContainerFacts] = dataclasses.field(default_factory=dict)
    """By name, init containers and ephemeral ones too; a name that is missing was never begun."""
    host_ips: tuple[str, ...] = ()
    seen: dt.datetime | None = None
    """When the node first saw the pod; it becomes startTime unless the pod has one already."""
    rejection: Rejection | None = None
    eviction: Eviction | None = None
    adopted: bool = False
    """The processes were begun by an earlier daemon: marks of what was under way may be missing."""
    rebooted: bool = False
    """The boot id is another one than when the pod's sandbox was made."""
    removed: bool = False
    """The pod object is no longer in the API: nothing is to be written, only to be cleared away."""
    ending: dt.datetime | None = None
    """Since when an EndSandbox step is being carried out."""
    told: frozenset[str] = frozenset()
    """The `told` of the last Steps whose events were recorded."""

    def of(self, name: str) -> ContainerFacts:
        return self.containers.get(name, _NOTHING)


_NOTHING = ContainerFacts()
