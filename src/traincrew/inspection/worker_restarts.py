"""Replicas of running jobs whose torchrun has restarted its workers after failures, from their logs."""

from __future__ import annotations

import asyncio

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.diagnosis import torchrun_restarts
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import objects

MAX_PODS = 64
LINES = 1000
"""Lines of each log: the tracebacks of several restarts, and the output between them."""


async def read(client: LogReader, job: ObservedJob) -> torchrun_restarts.ReplicaRestarts | None:
    """Of the replica with the most failures of its own. None: there are none, or no log can be read."""
    if job.state != "Running" or getattr(job.job.spec, "elastic_policy", None) is None:
        return None
    running = [pod for pod in job.pods if pod.active and pod.status.phase == "Running"][:MAX_PODS]
    read = await asyncio.gather(*(_read(client, job, pod) for pod in running))
    own = [each for each in read if each is not None and not each.found.is_consequence]
    return max(own, key=lambda each: each.found.count, default=None)


async def _read(client: LogReader, job: ObservedJob, pod: objects.Pod) -> torchrun_restarts.ReplicaRestarts | None:
    position = pod_logs.ContainerReference(pod.metadata.namespace, pod.name, job.training_container(pod))
    if not any(each.name == position.container and each.state.running for each in pod.status.container_statuses):
        return None  # its log is that of a run that has ended
    try:
        batches = pod_logs.lines(client, position, pod_logs.PodLogOptions(tail=LINES))
        lines = [line async for batch in batches for line in batch if line.nanoseconds]
    except errors.ApiError:
        return None
    found = torchrun_restarts.find("\n".join(line.text.decode(errors="replace") for line in lines))
    return torchrun_restarts.ReplicaRestarts(job.replica(pod), found, len(lines) < LINES) if found is not None else None
