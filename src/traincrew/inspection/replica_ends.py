"""Reads how the replicas of a job ended, with the tails of their logs, for the diagnosis of a failure."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import failures
from traincrew.inspection.observed_job import ObservedJob, decode_pod
from traincrew.kinds.replica import Role
from traincrew.model import naming, objects, resources
from traincrew.model.status import Failure
from traincrew.planner import recorded_ends

MAX_PODS = 16
"""Pods whose logs are read. Those that ended first come first."""
LINES = 300
"""Lines of each log. Launchers print long reports after the exception that caused them."""


class FailedContainer(NamedTuple):
    pod: objects.Pod
    status: objects.ContainerStatus
    ended: objects.Terminated


async def read(client: LogReader, job: ObservedJob, log_root: pathlib.Path | None = None) -> tuple[ReplicaEnd, ...]:
    """The ends of the failed replicas. Empty if the status of the job has no failure, or if no log can be read.

    log_root: the logs of this machine, which has those of deleted pods, too.
    """
    if job.failure is None or job.failure.disruption:
        return ()
    pods = await _with_ended_pod(client, job, job.failure)
    failed = failed_containers(pods, job.failure)[:MAX_PODS]
    ends = await asyncio.gather(*(_read(client, job, *each, log_root) for each in failed))
    kept: tuple[ReplicaEnd, ...] = ()
    if log_root is not None and not _has_ended(pods, job.failure):
        kept = await _read_kept(job, job.failure, log_root)
    return (*kept, *(end for end in ends if end is not None))


async def _with_ended_pod(client: LogReader, job: ObservedJob, failure: Failure) -> Sequence[objects.Pod]:
    """The pods, with the failed one as it is now: the watch of the pods can be later than that of the job."""
    if _has_ended(job.pods, failure) or failure.uid not in {pod.metadata.uid for pod in job.pods}:
        return job.pods
    try:
        pod = decode_pod(await client.get(resources.PODS, job.job.namespace, failure.pod))
    except errors.ApiError:
        return job.pods  # it is deleted meanwhile, or the user may not read it
    return [pod if each.metadata.uid == pod.metadata.uid else each for each in job.pods]


def _has_ended(pods: Iterable[objects.Pod], failure: Failure) -> bool:
    return failure.uid in {pod.metadata.uid for pod, *_ in failed_containers(pods, failure)}


async def _read_kept(job: ObservedJob, failure: Failure, log_root: pathlib.Path) -> tuple[ReplicaEnd, ...]:
    """The end of the deleted pod that the status names. The ends of the others are not known."""
    position = pod_logs.ContainerReference(job.job.namespace, failure.pod, failure.container)
    lines = await _kept_lines(log_root, position, failure.uid, pod_logs.PodLogOptions(tail=LINES))
    if not lines:
        return ()
    role = failure.replica.partition(" ")[0]
    end = recorded_ends.replica_end(failure, recorded_ends.memory_limit(job.job, role, failure.container))
    return (dataclasses.replace(end, output=_text(lines)),)


async def _kept_lines(
    log_root: pathlib.Path, position: pod_logs.ContainerReference, uid: str, options: pod_logs.PodLogOptions
) -> list[pod_logs.PodLogLine]:
    from traincrew.inspection import log_files  # few pods are deleted

    return [line async for batch in log_files.lines(log_root, position, uid, options) for line in batch]


def _text(lines: Sequence[pod_logs.PodLogLine]) -> str:
    return "\n".join(line.text.decode(errors="replace") for line in lines)


def failed_containers(pods: Iterable[objects.Pod], failure: Failure) -> list[FailedContainer]:
    """The containers that failed, in their current or in their previous run, the first first.

    Earlier failures, which were retried, are left out.
    """
    found = [_failed(pod, status) for pod in pods for status in pod.status.container_statuses]
    related = [each for each in found if each is not None and failures.is_related(each.ended.finished_at, failure)]
    return sorted(related, key=lambda each: str(each.ended.finished_at))


def _failed(pod: objects.Pod, status: objects.ContainerStatus) -> FailedContainer | None:
    ended = status.state.terminated or status.last_state.terminated
    return FailedContainer(pod, status, ended) if ended is not None and ended.exit_code else None


async def _read(
    client: LogReader,
    job: ObservedJob,
    pod: objects.Pod,
    status: objects.ContainerStatus,
    ended: objects.Terminated,
    log_root: pathlib.Path | None,
) -> ReplicaEnd | None:
    options = pod_logs.PodLogOptions(previous=status.state.terminated is None, tail=LINES)
    position = pod_logs.ContainerReference(pod.metadata.namespace, pod.name, status.name)
    lines = await _read_lines(client, position, options)
    if not lines and log_root is not None:  # the pod was deleted meanwhile
        lines = await _kept_lines(log_root, position, pod.metadata.uid, options) or lines
    if lines is None:
        return None  # the log is gone, or the user may not read it: the status of the job has its last lines
    output = _text(lines) or ended.message
    reason = pod.status.reason or ended.reason
    role = _role(job, pod)
    limit = recorded_ends.memory_limit(job.job, role.name if role else "", status.name)
    end = ReplicaEnd(replica_name(job, pod), output, ended.exit_code, reason, ended.finished_at, status.name, limit)
    return dataclasses.replace(end, signal=ended.ending_signal, silent=not output.strip())


async def _read_lines(
    client: LogReader, position: pod_logs.ContainerReference, options: pod_logs.PodLogOptions
) -> list[pod_logs.PodLogLine] | None:
    """None: the API server has no such log, or the user may not read it."""
    try:
        return [line async for batch in pod_logs.lines(client, position, options) for line in batch]
    except errors.ApiError:
        return None


def _role(job: ObservedJob, pod: objects.Pod) -> Role | None:
    labels = pod.metadata.labels
    label = labels.get(naming.REPLICA_TYPE) or labels.get(naming.JOB_ROLE, "")
    return next((role for role in job.kind.roles if role.label == label), None)


def replica_name(job: ObservedJob, pod: objects.Pod) -> str:
    """The name that the status of the job uses, such as `Worker 1`."""
    role, labels = _role(job, pod), pod.metadata.labels
    if role is None:
        return job.replica(pod)
    return f"{role.name} {labels.get(naming.REPLICA_INDEX, '')}".strip() if role.indexed else role.name
