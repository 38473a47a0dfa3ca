"""A job with its pods, decoded from the API."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from traincrew.kinds.job_decoding import decode_stored
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, meta, naming, objects
from traincrew.model.lenient_decoding import LenientDecoder
from traincrew.model.meta import Time
from traincrew.model.status import Failure, JobStatus

_STATES = ("Failed", "Succeeded", "Suspended", "Restarting", "Running", "Created")
_pods: LenientDecoder[objects.Pod] = LenientDecoder(objects.Pod)


@dataclasses.dataclass(frozen=True)
class ObservedJob:
    kind: JobKind
    """The kind that handles the job."""
    job: jobs.Job
    pods: tuple[objects.Pod, ...] = ()
    hang: str = ""
    """Why the job seems to hang. Empty: it does not, or nobody has looked."""
    deleted: Time | None = None
    """When the job was deleted: it is read from the history. None: it exists."""

    @property
    def reference(self) -> str:
        return f"{self.kind.singular}/{self.job.name}"

    @property
    def state(self) -> str:
        return state(self.job.status)

    def replica(self, pod: objects.Pod) -> str:
        return replica(self.job.name, pod.name)

    def training_container(self, pod: objects.Pod) -> str:
        """The container of the kind's name, else the first one."""
        names = [each.name for each in pod.status.container_statuses]
        return self.kind.pods.container if self.kind.pods.container in names else next(iter(names), "")

    @property
    def complete(self) -> bool:
        """Whether the job has finished with all its pods. Pods of a finished job may still be starting."""
        return self.job.status.finished and all(pod.finished for pod in self.pods)

    @property
    def failure(self) -> Failure | None:
        """The failure that ended the job or its latest attempt."""
        return self.job.status.ending_failure


def observe(kind: JobKind, raw: bytes, pods: Iterable[objects.Pod] = ()) -> ObservedJob:
    stored, _ = decode_stored(kind, raw)
    handler = kind.following(stored)
    job = handler.job(stored)
    own_pods = [pod for pod in pods if belongs(pod, kind, job.name)]
    return ObservedJob(handler, job, tuple(sorted(own_pods, key=lambda pod: rank(handler, job.name, pod))))


def decode_pod(raw: bytes) -> objects.Pod:
    return _pods.decode(raw)[0]


def selector(job: str) -> str:
    """Label selector of the pods of all jobs of this name, of any kind."""
    return f"{naming.JOB_NAME}={job}"


def belongs(pod: meta.Named, kind: JobKind, job: str) -> bool:
    labels = pod.metadata.labels
    operators = {kind.controller, *(variant.controller for variant in kind.variants.values())}
    return labels.get(naming.JOB_NAME) == job and labels.get(naming.OPERATOR_NAME, kind.controller) in operators


def replica(job: str, pod: str) -> str:
    """`worker-1` of `mnist-worker-1`."""
    return pod.removeprefix(f"{job}-")


def rank(kind: JobKind, job: str, pod: objects.Pod) -> tuple[int, int, str]:
    """Sort key of pods: roles in the order of the kind, then index."""
    role = pod.metadata.labels.get(naming.REPLICA_TYPE, "")
    number = pod.metadata.labels.get(naming.REPLICA_INDEX, "")
    roles = [each.label for each in kind.roles]
    return roles.index(role) if role in roles else len(roles), int(number) if number.isdecimal() else 0, pod.name


def matches(replica: str, wanted: str) -> bool:
    """`worker-1` matches one replica, `worker` all workers, `launcher` the launcher with any suffix."""
    return replica == wanted.lower() or replica.startswith(f"{wanted.lower()}-")


def state(status: JobStatus) -> str:
    return next((each for each in _STATES if status.is_true(each)), "New")


def since(status: JobStatus) -> Time | None:
    """When the job entered its current state."""
    current = state(status)
    return next((each.last_transition_time for each in status.conditions if each.type == current), None)


def exit_code(status: JobStatus) -> int:
    """0 if the job succeeded, else the exit code of the container that ended the job, or 1 if it is unknown."""
    if status.is_true("Succeeded"):
        return 0
    for failure in (status.ending_failure, status.failure):
        if failure is not None and failure.exit_code and not failure.disruption:
            return failure.exit_code if failure.exit_code < 256 else 1
    return 1
