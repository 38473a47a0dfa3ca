"""Jobs in the list."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message
from traincrew.model.meta import Time

Status = Literal["Queued", "Starting", "Running", "Restarting", "Suspended", "Succeeded", "Failed", "Deleting", "Unknown"]
"""The one vocabulary for every kind."""


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
