"""Which logs of a job exist: those of its pods, and stored ones of deleted pods and jobs."""

from __future__ import annotations

import dataclasses
import pathlib

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.cli import cluster_target
from traincrew.cli.jobs import query, time_arguments
from traincrew.client import clock, pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.inspection import container_runs, job_references, log_files, observed_job
from traincrew.kinds.kind import JobKind
from traincrew.model import objects


@dataclasses.dataclass(frozen=True)
class LogRequest:
    follow: bool = False
    replica: str = ""
    container: str = ""
    since: str = ""
    tail: int | None = None
    previous: bool = False
    timestamps: bool = False
    prefix: bool | None = None
    form: str = "text"
    recording: str = ""
    """A recording file, in place of a cluster."""

    def wanted(self) -> pod_logs.PodLogOptions:
        since = ""
        if self.since:
            since = times.rfc3339(time_arguments.parse_time(self.since, clock.now()))
        return pod_logs.PodLogOptions(previous=self.previous, tail=self.tail, since=since)

    def check(self) -> None:
        """Raise SettingsError for options that exclude each other, and for invalid values."""
        if self.follow and self.previous:
            raise errors.SettingsError("--previous cannot be used with --follow")
        if self.follow and self.recording:
            raise errors.SettingsError("--follow cannot be used with --recording: nothing follows")
        if self.follow and self.form == "name":
            raise errors.SettingsError("-o name cannot be used with --follow")
        self.wanted()

    def selects(self, replica: str) -> bool:
        return not self.replica or observed_job.matches(replica, self.replica)


@dataclasses.dataclass(frozen=True)
class LogSource:
    position: pod_logs.ContainerReference
    uid: str
    stored: bool
    """Read from stored files."""
    only_container: bool
    """The pod has no other container."""
    replica: str = ""
    never_ran: str = ""
    """Why there is no log and never will be."""

    @property
    def name(self) -> str:
        return self.replica if self.only_container else f"{self.replica}/{self.position.container}"


def root(target: cluster_target.ClusterTarget) -> pathlib.Path | None:
    """The stored logs, if the cluster runs on this machine."""
    return target.local.data / "logs" if target.local is not None else None


class JobGone(errors.NoJob):
    """There is no such job, and no log of one on this machine."""


async def find(client: RemoteClient, target: cluster_target.ClusterTarget, name: str, request: LogRequest) -> list[LogSource]:
    """Raise NoJob if there are none, JobGone if there is no such job."""
    named = job_references.parse(name)
    try:
        observed, reference = await query.get_job(client, target.namespace, name)
    except errors.NoJob as error:
        gone = _of_deleted_job(target, named)
        if not gone:
            raise JobGone(str(error)) from None
        return _select(gone, named.name, request)
    live = [source for pod in observed.pods for source in _of_pod(root(target), pod, request.container)]
    kept = _of_deleted_pods(target, reference.kind, observed)
    if not live and not kept:
        raise errors.NoJob(
            f"{observed.reference} has no logs yet. Run `traincrew why {observed.reference}` to see why it is waiting."
        )
    return _select([*kept, *live], observed.job.name, request)


def of_recorded_job(observed: observed_job.ObservedJob, request: LogRequest) -> list[LogSource]:
    return _select([source for pod in observed.pods for source in _of_pod(None, pod, "")], observed.job.name, request)


def _of_deleted_job(target: cluster_target.ClusterTarget, named: job_references.JobReference) -> list[LogSource]:
    found = root(target)
    return _stored(log_files.of_job(found, target.namespace, named.kind, named.name), target.namespace) if found else []


def _of_deleted_pods(target: cluster_target.ClusterTarget, kind: JobKind, observed: observed_job.ObservedJob) -> list[LogSource]:
    """Of this job, not of an earlier one of the same name."""
    if (found := root(target)) is None:
        return []
    living = {pod.metadata.uid for pod in observed.pods}
    pods = log_files.of_present_job(found, kind, observed.job.metadata)
    return _stored([pod for pod in pods if pod.uid not in living], target.namespace)


def _of_pod(root: pathlib.Path | None, pod: objects.Pod, container: str) -> list[LogSource]:
    names = [container] if container else [entry.name for entry in pod.status.container_statuses]
    on_disk = log_files.of_pod(root, pod.metadata.namespace, pod.name, pod.metadata.uid) if root is not None else []
    return [
        LogSource(
            pod_logs.ContainerReference(pod.metadata.namespace, pod.name, entry),
            pod.metadata.uid,
            entry in on_disk,
            len(pod.status.container_statuses) <= 1,
            never_ran=container_runs.never_ran(pod, entry),
        )
        for entry in names
    ]


def _stored(pods: list[log_files.StoredPod], namespace: str) -> list[LogSource]:
    return [
        LogSource(pod_logs.ContainerReference(namespace, pod.pod, container), pod.uid, True, len(pod.containers) == 1)
        for pod in pods
        for container in pod.containers
    ]


def _select(sources: list[LogSource], job: str, request: LogRequest) -> list[LogSource]:
    named = [dataclasses.replace(source, replica=observed_job.replica(job, source.position.pod)) for source in sources]
    selected = [
        source for source in named if request.selects(source.replica) and request.container in ("", source.position.container)
    ]
    if not selected:
        known = ", ".join(dict.fromkeys(source.replica for source in named))
        raise errors.NoJob(f"no logs of this replica or container. Logs exist for: {known}.")
    return selected
