"""Replicas that have printed an exception and still run, from their logs."""

from __future__ import annotations

import asyncio

from traincrew import errors
from traincrew.client import clock, pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.diagnosis import last_exception
from traincrew.inspection.explanation import UnfinishedReplica
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects

MAX_PODS = 64
LINES = 60
"""Lines of each log: a traceback with its frames."""


async def read(client: RemoteClient, job: ObservedJob) -> tuple[UnfinishedReplica, ...]:
    """Empty if the job is not running, or if no log can be read."""
    if job.state != "Running":
        return ()
    running = [pod for pod in job.pods if pod.active and pod.status.phase == "Running"][:MAX_PODS]
    found = await asyncio.gather(*(_read(client, job, pod) for pod in running))
    return tuple(each for each in found if each is not None)


async def _read(client: RemoteClient, job: ObservedJob, pod: objects.Pod) -> UnfinishedReplica | None:
    position = pod_logs.LogPosition(pod.metadata.namespace, pod.name, job.training_container(pod))
    try:
        batches = pod_logs.lines(client, position, pod_logs.PodLogOptions(tail=LINES))
        lines = [line async for batch in batches for line in batch if line.nanoseconds]
    except errors.ApiError:
        return None
    if not lines:
        return None
    output, last = "\n".join(line.text.decode(errors="replace") for line in lines), pod_logs.timestamp(lines[-1])
    found = last_exception.find(output, last, clock.now())
    return UnfinishedReplica(job.replica(pod), last, found) if found is not None else None
