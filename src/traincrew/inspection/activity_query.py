"""Reads the activity of the replicas of jobs with the rights of the user: metrics, logs and, if wanted, stacks."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.client import clock, pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.diagnosis import hang
from traincrew.inspection import measured_usage, memory_limits, observed_job
from traincrew.model import naming, objects, pod_activity
from traincrew.model.meta import Time
from traincrew.model.resources import Resource

POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
MAX_LOGS = 64
"""Replicas whose last line is read from the API server."""
METRICS_SECONDS = 5.0
"""A metrics server that does not answer must not stop `why`."""

StackReader = Callable[[RemoteClient, observed_job.ObservedJob, objects.Pod], Awaitable[tuple[str, ...]]]
"""Returns the frames of the replica's main thread, innermost first; empty if they cannot be read."""
Metrics = Mapping[tuple[str, str], Mapping[str, Any]]
"""PodMetrics by namespace and name."""


@dataclasses.dataclass(frozen=True)
class HangSearch:
    """How much is read, and when silence is reported."""

    limits: hang.HangLimits = hang.HangLimits()
    logs: bool = True
    """Whether the last line of each replica is read, if its node does not report the time of it."""
    printed: Callable[[objects.Pod], Time | None] | None = None
    """The time of the last line of a replica, for callers that follow the logs. None: they are read."""
    read_stack: StackReader | None = None
    """Reads the stacks of the replicas once they seem to hang, or print nothing. None: stacks are not read."""
    install: str = ""
    """The command that installs py-spy, without which stacks cannot be read here. Empty: it is not missing."""


class Examined(NamedTuple):
    hang: hang.Hang | None
    """None: the job does not seem to hang."""
    activities: tuple[hang.ReplicaActivity, ...] = ()
    """Of the replicas of a running job."""


async def examine(client: RemoteClient, job: observed_job.ObservedJob, search: HangSearch) -> Examined:
    if not _may_hang(job):
        return Examined(None)
    return await _examine(client, job, await _metrics(client, job.job.namespace, f"{naming.JOB_NAME}={job.job.name}"), search)


async def with_hangs(
    client: RemoteClient, jobs: Sequence[observed_job.ObservedJob], search: HangSearch, namespace: str | None
) -> list[observed_job.ObservedJob]:
    """The same jobs, with the sentence about those that seem to hang. namespace: of all jobs; None: there are several."""
    if not any(_may_hang(job) for job in jobs):
        return list(jobs)
    labels = f"{naming.JOB_NAME}={jobs[0].job.name}" if len(jobs) == 1 else naming.JOB_NAME
    metrics = await _metrics(client, namespace, labels)
    found = await asyncio.gather(*(_sentence(client, job, metrics, search) for job in jobs))
    return [dataclasses.replace(job, hang=each) for job, each in zip(jobs, found, strict=True)]


async def _sentence(client: RemoteClient, job: observed_job.ObservedJob, metrics: Metrics, search: HangSearch) -> str:
    """Empty: the job does not seem to hang. An exception of a replica that does not exit explains the silence of all."""
    found = (await _examine(client, job, metrics, search)).hang
    if found is None:
        return ""
    from traincrew.inspection import last_exceptions  # few jobs hang

    unfinished = await last_exceptions.read(client, job)
    return unfinished[0].sentence(clock.now()) if unfinished else found.message


async def _examine(client: RemoteClient, job: observed_job.ObservedJob, metrics: Metrics, search: HangSearch) -> Examined:
    if not _may_hang(job):
        return Examined(None)
    pods = job.pods
    activities = [activity(job, pod, metrics.get((pod.metadata.namespace, pod.name))) for pod in pods]
    activities = await _with_last_outputs(client, job, activities, metrics, search)
    found = hang.find(activities, clock.now(), search.limits)
    if search.read_stack is None or (found is None and not hang.may_differ(activities, clock.now(), search.limits)):
        return Examined(found, tuple(activities))
    pairs = zip(activities, pods, strict=True)
    activities = await asyncio.gather(*(_with_stack(client, job, each, pod, search.read_stack) for each, pod in pairs))
    return Examined(hang.find(activities, clock.now(), search.limits) or found, tuple(activities))


def _may_hang(job: observed_job.ObservedJob) -> bool:
    """A job whose replicas do not run yet waits, which others report."""
    return job.state == "Running" and not job.job.suspended and len(job.pods) >= job.job.total


def activity(job: observed_job.ObservedJob, pod: objects.Pod, metrics: Mapping[str, Any] | None) -> hang.ReplicaActivity:
    """From the pod and its PodMetrics."""
    role = next((each for each in job.kind.roles if each.label == pod.metadata.labels.get(naming.REPLICA_TYPE)), None)
    reported = (metrics or {}).get("metadata", {}).get("annotations") or {}
    containers = [measured_usage.parse_usage(each["usage"]) for each in (metrics or {}).get("containers") or ()]
    connections = reported.get(pod_activity.CONNECTIONS)
    return hang.ReplicaActivity(
        replica=job.replica(pod),
        state=_state(job, pod),
        started=_started(job, pod),
        last_output=_time(reported.get(pod_activity.LAST_OUTPUT, "")),
        cpu=sum(each.cpu for each in containers) if containers else None,
        memory=memory_limits.used(job, pod, metrics),
        memory_limit=memory_limits.limit(job, pod, role.name if role is not None else ""),
        connections=int(connections) if connections is not None else None,
        prints=role is None or role.prints,
        computes=role is None or role.computes,
    )


def _state(job: observed_job.ObservedJob, pod: objects.Pod) -> hang.State:
    if pod.status.phase == "Succeeded":
        return "Succeeded"
    if pod.status.phase == "Failed":
        return "Failed"
    return "Running" if pod.active and _started(job, pod) is not None else "Waiting"


def _started(job: observed_job.ObservedJob, pod: objects.Pod) -> Time | None:
    running = {each.name: each.state.running for each in pod.status.container_statuses}
    state = running.get(job.training_container(pod))
    return state.started_at if state is not None else None


def _time(text: str) -> Time | None:
    with contextlib.suppress(times.TimeError):
        return times.parse(text) if text else None
    return None


async def _metrics(client: RemoteClient, namespace: str | None, labels: str) -> Metrics:
    """Empty if the user may not read them, or if there is no metrics server."""
    try:
        async with asyncio.timeout(METRICS_SECONDS):
            pages = [page async for page in client.pages(POD_METRICS, namespace, labels=labels)]
    except (errors.ApiError, TimeoutError):
        return {}
    found = [json.loads(raw) for page in pages for raw in page.items]
    return {(each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in found}


async def _with_last_outputs(
    client: RemoteClient,
    job: observed_job.ObservedJob,
    activities: Sequence[hang.ReplicaActivity],
    metrics: Metrics,
    search: HangSearch,
) -> list[hang.ReplicaActivity]:
    """From the logs of the replicas whose nodes have not reported the time, if they are read."""
    reads = search.logs and len(job.pods) <= MAX_LOGS

    async def of(known: hang.ReplicaActivity, pod: objects.Pod) -> hang.ReplicaActivity:
        reported = metrics.get((pod.metadata.namespace, pod.name), {}).get("metadata", {}).get("annotations") or {}
        is_known = known.state != "Running" or pod_activity.LAST_OUTPUT in reported
        if is_known:
            return known
        return await _with_last_output(client, job, known, pod, search) if reads else _with_unknown_output(known)

    return list(await asyncio.gather(*map(of, activities, job.pods)))


async def _with_last_output(
    client: RemoteClient, job: observed_job.ObservedJob, known: hang.ReplicaActivity, pod: objects.Pod, search: HangSearch
) -> hang.ReplicaActivity:
    if search.printed is not None:
        last = search.printed(pod)
        is_of_this_run = last is not None and (known.started is None or last >= known.started)
        return dataclasses.replace(known, last_output=last if is_of_this_run else None)
    try:
        return dataclasses.replace(known, last_output=await _last_line(client, job, pod))
    except errors.ApiError:
        return _with_unknown_output(known)


def _with_unknown_output(known: hang.ReplicaActivity) -> hang.ReplicaActivity:
    """Without its log nothing is known about the silence of the replica."""
    return dataclasses.replace(known, last_output=clock.now(), prints=False, output_is_known=False)


async def _last_line(client: RemoteClient, job: observed_job.ObservedJob, pod: objects.Pod) -> Time | None:
    position = pod_logs.ContainerReference(pod.metadata.namespace, pod.name, job.training_container(pod))
    batches = pod_logs.lines(client, position, pod_logs.PodLogOptions(tail=1))
    lines = [line async for batch in batches for line in batch if line.nanoseconds]
    return pod_logs.timestamp(lines[-1]) if lines else None


async def _with_stack(
    client: RemoteClient, job: observed_job.ObservedJob, known: hang.ReplicaActivity, pod: objects.Pod, read_stack: StackReader
) -> hang.ReplicaActivity:
    if known.state != "Running":
        return known
    return dataclasses.replace(known, stack=await read_stack(client, job, pod))
