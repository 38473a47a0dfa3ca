"""Failures in containers of live pods that are consequences of the loss of another replica. They are not recorded as causes."""

from __future__ import annotations

import datetime as dt

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure, JobStatus, Restarts
from traincrew.planner import failure_records
from traincrew.planner.replicas import Replicas

TICK = dt.timedelta(seconds=1)


def is_secondary(replicas: Replicas, status: JobStatus, pod: objects.Pod, record: Failure) -> bool:
    """Whether the recorded failure of a container in this pod follows from an earlier loss of another pod."""
    if record.time is None:
        return False
    return _while_incomplete(replicas, status.restarts, pod, record.time) or _after_rendezvous_loss(
        replicas, status, pod, record.time
    )


def _while_incomplete(replicas: Replicas, restarts: Restarts, pod: objects.Pod, failed: Time) -> bool:
    """Whether a pod of the lost attempt failed before the replacements of the lost pods ran."""
    if restarts.youngest is None or _created_after(pod, restarts.youngest):
        return False
    pods = [slot.pod for slot in replicas.slots if slot.pod is not None and _created_after(slot.pod, restarts.youngest)]
    started = [_running_since(each) for each in pods]
    return any(time is not None and failed <= time for time in started)


def _created_after(pod: objects.Pod, time: Time) -> bool:
    return pod.metadata.creation_timestamp is not None and pod.metadata.creation_timestamp > time


def _after_rendezvous_loss(replicas: Replicas, status: JobStatus, pod: objects.Pod, failed: Time) -> bool:
    """Whether the container was connected to the lost rendezvous host, or failed before its replacement ran."""
    name = replicas.kind.lifecycle.rendezvous(replicas.job)
    host = next((slot.pod for slot in replicas.slots if slot.replica.name == name), None)
    if host is None or pod.name == name:
        return False
    started, host_since = _last_run_started(pod), _running_since(host)
    lost = [time for time in _loss_times(status, host) if time <= failed]
    return any(started is None or started <= time for time in lost) or (
        bool(lost) and (host_since is None or failed <= host_since)
    )


def _loss_times(status: JobStatus, host: objects.Pod) -> list[Time]:
    """When the rendezvous host failed. Times have whole seconds: of two failures in the same second either may be first."""
    container = failure_records.last_failed_termination(host)
    records = (record for record in (status.failure, status.last_failure) if record is not None and record.pod == host.name)
    times = [record.time for record in records if record.time is not None and record.uid != host.metadata.uid]
    if container is not None and container.finished_at is not None:
        times.append(container.finished_at + TICK)
    return times


def _running_since(pod: objects.Pod) -> Time | None:
    states = [status.state.running for status in pod.status.container_statuses]
    return max((state.started_at for state in states if state is not None and state.started_at is not None), default=None)


def _last_run_started(pod: objects.Pod) -> Time | None:
    terminated = failure_records.last_failed_termination(pod)
    return terminated.started_at if terminated is not None else None
