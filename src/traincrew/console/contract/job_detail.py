"""The page of a job: why it waits or failed, its events, what a user may do with it."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.jobs import JobSummary
from traincrew.console.contract.message import Message
from traincrew.console.contract.replicas import Replica, ReplicaTimeline
from traincrew.model.meta import Time

ActionName = Literal["suspend", "resume", "scale", "rerun", "delete"]


class Failure(Message, kw_only=True):
    """The first failure of the job, or of its latest attempt."""

    replica: str
    """Such as `worker-1`."""
    pod: str
    node: str
    container: str
    exit_code: int | None = None
    reason: str
    """Such as `OOMKilled` or `Error`."""
    disruption: bool
    """The pod was disrupted from outside (eviction, preemption, lost node, deletion); its program did not fail."""
    time: Time | None = None
    cause: str
    """One line. Empty: unknown."""
    advice: str
    """What to do. Empty: unknown."""
    evidence: list[str] = []
    """Lines of the output of the replica that failed first."""
    victims: list[str] = []
    """Replicas that failed because of it."""
    message: str = ""
    """The termination message of the container, or its last lines of output."""
    final: bool
    """The failure ended the job. False: the job restarted after it."""


class Diagnosis(Message, kw_only=True):
    """What `traincrew why` says."""

    failure: Failure | None = None
    causes: list[str] = []
    """What happened, one sentence each."""
    evidence: list[str] = []
    pods: list[str] = []
    """Replicas that do not run, each with its reason, if the causes do not name them."""
    warnings: list[str] = []
    remedies: list[str] = []
    """What to do."""
    commands: list[str] = []
    """Commands of the CLI that show more."""


class Event(Message, kw_only=True):
    uid: str
    type: str
    """`Normal` or `Warning`."""
    reason: str
    message: str
    object_kind: str
    object_name: str
    replica: str = ""
    """Empty: the event is not about a replica."""
    source: str = ""
    count: int = 1
    first: Time | None = None
    last: Time | None = None


class Condition(Message, kw_only=True):
    type: str
    status: str
    reason: str
    message: str
    since: Time | None = None


class RoleSummary(Message, kw_only=True):
    name: str
    replicas: int
    restart_policy: str


class ElasticLimits(Message, kw_only=True):
    """Numbers of workers among which a running job may be scaled."""

    role: str
    min: int
    max: int


class Action(Message, kw_only=True):
    name: ActionName
    allowed: bool
    reason: str = ""
    """Why not: the state of the job, or a missing right."""


class Permission(Message, kw_only=True):
    allowed: bool
    reason: str = ""
    """Why not."""


class Restarts(Message, kw_only=True):
    charged: int
    """Restarts that count against the limit."""
    limit: int | None = None
    """Null: no limit."""
    disruptions: int


class RecordingInfo(Message, kw_only=True):
    """A recording file that was opened."""

    exported: Time | None = None
    """The job is shown as of this time."""
    version: str
    """Of traincrew, which wrote the file."""
    server: str
    """The API server of the cluster. Empty: unknown."""
    missing: list[str] = []
    """What is not in the recording, and why."""


class JobDetail(Message, kw_only=True):
    summary: JobSummary
    roles: list[RoleSummary]
    replicas: list[Replica]
    """In the order of the roles of the kind, then by index. At most 500: those that do not run, then the first ones."""
    more_replicas: int = 0
    """Number of replicas that are in neither `replicas` nor `timeline`. `GET JOB/replicas` has all of them."""
    timeline: list[ReplicaTimeline]
    diagnosis: Diagnosis
    events: list[Event]
    """Of the job and its pods, the oldest first."""
    conditions: list[Condition]
    restarts: Restarts
    elastic: ElasticLimits | None = None
    actions: list[Action]
    terminal: Permission
    """Whether a terminal of its replicas can be opened. One of the replicas must run."""
    annotations: dict[str, str]
    deleted: Time | None = None
    """When the job was deleted: this is its record. Null: it exists."""
    recording: RecordingInfo | None = None
    """The page shows a recording file. Null: the job itself, or its record in the history."""


class JobPatch(Message, kw_only=True):
    """What changed of a job. Null or empty: no change."""

    summary: JobSummary | None = None
    roles: list[RoleSummary] | None = None
    replicas: list[Replica] = []
    """New and changed replicas, complete."""
    removed_replicas: list[str] = []
    """Those that are gone, or no longer among the ones that are sent."""
    more_replicas: int | None = None
    timeline: list[ReplicaTimeline] = []
    """New and changed timelines, complete."""
    diagnosis: Diagnosis | None = None
    events: list[Event] = []
    """New events, and known ones (same uid) with another count."""
    conditions: list[Condition] | None = None
    restarts: Restarts | None = None
    elastic: ElasticLimits | None = None
    actions: list[Action] | None = None
    terminal: Permission | None = None
    annotations: dict[str, str] | None = None


class YamlDocument(Message, kw_only=True):
    yaml: str
    """Without managed fields."""
    submitted: str
    """What `kubectl apply` was given last, else as `manifest`."""
    manifest: str
    """Spec and metadata that a new job needs to be the same job: no status, uid, timestamps."""
