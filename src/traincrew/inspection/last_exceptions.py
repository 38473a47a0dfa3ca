"""Replicas that have printed an exception and still run, from their logs."""

from __future__ import annotations

import asyncio

from traincrew import errors
from traincrew.client import clock, pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.diagnosis import last_exception
from traincrew.inspection.explanation import UnfinishedReplica
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects
from traincrew.model.meta import Time

MAX_PODS = 64
LINES = 60
"""Lines of each log: a traceback with its frames."""


async def read(client: LogReader, job: ObservedJob) -> tuple[UnfinishedReplica, ...]:
    """Empty if the job is not running, or if no log can be read."""
    if job.state != "Running":
        return ()
    running = [pod for pod in job.pods if pod.active and pod.status.phase == "Running"][:MAX_PODS]
    found = await asyncio.gather(*(_read(client, job, pod) for pod in running))
    return tuple(each for each in found if each is not None)


async def _read(client: LogReader, job: ObservedJob, pod: objects.Pod) -> UnfinishedReplica | None:
    position = pod_logs.ContainerReference(pod.metadata.namespace, pod.name, job.training_container(pod))
    started = _started(pod, position.container)
    if started is None:
        return None
    try:
        batches = pod_logs.lines(client, position, pod_logs.PodLogOptions(tail=LINES))
        lines = [line async for batch in batches for line in batch if line.nanoseconds]
    except errors.ApiError:
        return None
    if not lines or (last := pod_logs.timestamp(lines[-1])) < started:
        return None
    output = "\n".join(line.text.decode(errors="replace") for line in lines)
    found = last_exception.find(output, last, clock.now())
    return UnfinishedReplica(job.replica(pod), last, found) if found is not None else None


def _started(pod: objects.Pod, container: str) -> Time | None:
    """When the present run of the container started. None: it does not run now.

    While it waits for its restart, its pod still runs, and its log is that of the run that ended.
    """
    running = next((each.state.running for each in pod.status.container_statuses if each.name == container), None)
    return running.started_at if running is not None else None
