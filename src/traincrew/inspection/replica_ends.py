"""Reads how the replicas of a job ended, with the tails of their logs, for the diagnosis of a failure."""

from __future__ import annotations

import asyncio

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model import naming, objects

MAX_PODS = 16
"""Pods whose logs are read. Those that ended first come first."""
LINES = 300
"""Lines of each log. Launchers print long reports after the exception that caused them."""


async def read(client: RemoteClient, job: ObservedJob) -> tuple[ReplicaEnd, ...]:
    """The ends of the failed replicas. Empty if the status of the job has no failure, or if no log can be read."""
    if job.failure is None or job.failure.disruption:
        return ()
    failed = sorted(_failed(job), key=lambda each: str(each[2].finished_at))[:MAX_PODS]
    ends = await asyncio.gather(*(_read(client, job, *each) for each in failed))
    return tuple(end for end in ends if end is not None)


def _failed(job: ObservedJob) -> list[tuple[objects.Pod, objects.ContainerStatus, objects.Terminated]]:
    """The containers that failed, in their current or in their previous run."""
    found = []
    for pod in job.pods:
        for status in pod.status.container_statuses:
            ended = status.state.terminated or status.last_state.terminated
            if ended is not None and ended.exit_code:
                found.append((pod, status, ended))
    return found


async def _read(
    client: RemoteClient, job: ObservedJob, pod: objects.Pod, status: objects.ContainerStatus, ended: objects.Terminated
) -> ReplicaEnd | None:
    options = pod_logs.PodLogOptions(previous=status.state.terminated is None, tail=LINES)
    position = pod_logs.LogPosition(pod.metadata.namespace, pod.name, status.name)
    try:
        lines = [line async for batch in pod_logs.lines(client, position, options) for line in batch]
    except errors.ApiError:
        return None  # the log is gone, or the user may not read it: the status of the job has its last lines
    output = "\n".join(line.text.decode(errors="replace") for line in lines) or ended.message
    reason = pod.status.reason or ended.reason
    return ReplicaEnd(replica_name(job, pod), output, ended.exit_code, reason, ended.finished_at)


def replica_name(job: ObservedJob, pod: objects.Pod) -> str:
    """The name that the status of the job uses, such as `Worker 1`."""
    labels = pod.metadata.labels
    label = labels.get(naming.REPLICA_TYPE) or labels.get(naming.JOB_ROLE, "")
    role = next((role for role in job.kind.roles if role.label == label), None)
    if role is None:
        return job.replica(pod)
    return f"{role.name} {labels.get(naming.REPLICA_INDEX, '')}".strip() if role.indexed else role.name
