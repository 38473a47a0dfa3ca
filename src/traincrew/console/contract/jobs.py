"""Jobs in the list and on their own pages."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message
from traincrew.model.meta import Time

Status = Literal["Queued", "Starting", "Running", "Restarting", "Suspended", "Succeeded", "Failed", "Deleting", "Unknown"]
"""The one vocabulary for every kind."""
ReplicaState = Literal["Missing", "Pending", "Starting", "Running", "Succeeded", "Failed", "Terminating", "Unknown"]
PhaseName = Literal["Pending", "Starting", "Running", "Succeeded", "Failed", "Lost"]
ActionName = Literal["suspend", "resume", "scale", "rerun", "delete"]


class Why(Message, kw_only=True):
    """Why a job does not run as wanted."""

    reason: str
    message: str
    since: Time | None = None


class ReplicaCounts(Message, kw_only=True):
    total: int
    ready: int
    """Running, and all containers are ready."""
    running: int
    succeeded: int
    failed: int


class Progress(Message, kw_only=True):
    fraction: float
    """From 0 to 1."""
    text: str
    """Such as `step 412 of 938`."""
    source: Literal["annotation", "output"]
    """annotation: `traincrew.kubeflow.org/progress` of the job. output: guessed from what a replica prints."""


class JobSummary(Message, kw_only=True):
    """A row of the list of jobs. (namespace, kind, name) identifies a job, uid one object of that name."""

    namespace: str
    kind: str
    """The lowercase singular of the resource, such as `mpijob`. URLs use it."""
    kind_name: str
    """Such as `MPIJob`."""
    api_version: str
    """The API version whose behaviour the job follows, such as `kubeflow.org/v2beta1`."""
    name: str
    uid: str
    status: Status
    stalled: str = ""
    """Why a running job seems to hang. Empty: it does not, or it is not known."""
    why: Why | None = None
    """Why a job waits, restarts or failed. Null: nothing is wrong."""
    attempt: int = 1
    """1 for the first attempt; each restart of the job is another one."""
    created: Time | None = None
    started: Time | None = None
    ended: Time | None = None
    replicas: ReplicaCounts
    resources: dict[str, str] = {}
    """The requests of all replicas together, such as `{"cpu": "5", "memory": "10Gi"}`."""
    devices: dict[str, int] = {}
    """Those of them that are extended resources, such as `{"nvidia.com/gpu": 2}`."""
    progress: Progress | None = None
    description: str = ""
    """The annotation `traincrew.kubeflow.org/description`."""
    owner: str = ""
    """Who created the job, as far as its annotations or labels say."""
    queue: str = ""
    priority: str = ""
    """Name of the priority class."""
    labels: dict[str, str] = {}


class JobKey(Message, kw_only=True):
    namespace: str
    kind: str
    name: str
    uid: str


class UnreadableKind(Message, kw_only=True):
    """Jobs of this kind are not in the list, for example because the user may not list them."""

    kind: str
    namespace: str
    """Empty: all namespaces."""
    message: str


class JobList(Message, kw_only=True):
    jobs: list[JobSummary]
    """The newest first, unless `sort` asks for another order."""
    counts: dict[str, int]
    """By status: the jobs that match all filters but `status`."""
    total: int
    """Number of jobs that match the filters; `jobs` may have fewer (`limit`)."""
    unreadable: list[UnreadableKind] = []


class JobListPatch(Message, kw_only=True):
    changed: list[JobSummary]
    """New jobs and jobs that changed, complete."""
    removed: list[JobKey]
    """Deleted jobs, and jobs that no longer match the filters."""
    counts: dict[str, int]
    total: int
    unreadable: list[UnreadableKind] = []


class Container(Message, kw_only=True):
    name: str
    init: bool
    image: str
    state: Literal["Waiting", "Running", "Terminated", "Unknown"]
    ready: bool
    restarts: int
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    message: str = ""
    started: Time | None = None
    ended: Time | None = None


class Replica(Message, kw_only=True):
    name: str
    """Role and index in lower case, such as `worker-1` or `launcher`. URLs and logs use it."""
    role: str
    """Such as `Worker`."""
    index: int
    rank: int | None = None
    """The rank that the operator gives the replica. Null: the kind gives none, or it changes while the job runs."""
    state: ReplicaState
    why: str = ""
    """Why the replica does not run. Empty: it runs or succeeded."""
    pod: str = ""
    """Empty if the pod does not exist (state Missing)."""
    uid: str = ""
    node: str = ""
    ip: str = ""
    restarts: int = 0
    """Restarts of its containers in this pod."""
    exit_code: int | None = None
    created: Time | None = None
    started: Time | None = None
    ended: Time | None = None
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    containers: list[Container] = []


class Phase(Message, kw_only=True):
    name: PhaseName
    start: Time
    end: Time | None
    """Null: the phase lasts."""
    text: str = ""
    """Such as `exit code 1` or `waits for an image`."""


class ReplicaTimeline(Message, kw_only=True):
    replica: str
    phases: list[Phase]
    """In the order of time, without gaps. Those of earlier pods of the replica come first, as far as they are known."""


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


class JobDetail(Message, kw_only=True):
    summary: JobSummary
    roles: list[RoleSummary]
    replicas: list[Replica]
    """In the order of the roles of the kind, then by index."""
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


class JobPatch(Message, kw_only=True):
    """What changed of a job. Null or empty: no change."""

    summary: JobSummary | None = None
    roles: list[RoleSummary] | None = None
    replicas: list[Replica] = []
    """New and changed replicas, complete."""
    removed_replicas: list[str] = []
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


class EnvironmentVariable(Message, kw_only=True):
    name: str
    value: str
    """Empty if the value comes from another object."""
    source: str = ""
    """Such as `secret db, key password`. Values of secrets are never sent."""


class Mount(Message, kw_only=True):
    path: str
    volume: str
    kind: str
    """Such as `persistentVolumeClaim` or `emptyDir`."""
    read_only: bool


class ContainerSpec(Message, kw_only=True):
    name: str
    init: bool
    image: str
    command: list[str]
    args: list[str]
    working_dir: str
    env: list[EnvironmentVariable]
    mounts: list[Mount]


class ReplicaDetail(Message, kw_only=True):
    replica: Replica
    containers: list[ContainerSpec]
    events: list[Event]
    yaml: str


class YamlDocument(Message, kw_only=True):
    yaml: str
    """Without managed fields."""
    submitted: str
    """Spec and metadata that a new job needs to be the same job: no status, uid, timestamps."""
