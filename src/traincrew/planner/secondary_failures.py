"""Failures inside living pods that only follow from the loss of another replica: they are no causes, and not recorded as such."""

from __future__ import annotations

import datetime as dt

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure, JobStatus, Restarts
from traincrew.planner import failure_records
from traincrew.planner.replicas import Replicas

TICK = dt.timedelta(seconds=1)


def is_secondary(replicas: Replicas, status: JobStatus, pod: objects.Pod, record: Failure) -> bool:
    """Whether the container of that pod failed, as recorded, because another was lost before it."""
    if record.time is None:
        return False
    return _while_incomplete(replicas, status.restarts, pod, record.time) or _with_the_meeting_point(replicas, status, pod, record.time)


def _while_incomplete(replicas: Replicas, book: Restarts, pod: objects.Pod, failed: Time) -> bool:
    """In a pod of the lost attempt, before those that replace the lost ones ran."""
    if book.youngest is None or _made_after(pod, book.youngest):
        return False
    since = [_running_since(slot.pod) for slot in replicas.slots if slot.pod is not None and _made_after(slot.pod, book.youngest)]
    return any(moment is not None and failed <= moment for moment in since)


def _made_after(pod: objects.Pod, moment: Time) -> bool:
    return pod.metadata.creation_timestamp is not None and pod.metadata.creation_timestamp > moment


def _with_the_meeting_point(replicas: Replicas, status: JobStatus, pod: objects.Pod, failed: Time) -> bool:
    """In a run that had met at the replica that was lost, however late it noticed, or that could not meet for want of it."""
    name = replicas.kind.lifecycle.rendezvous(replicas.job)
    point = next((slot.pod for slot in replicas.slots if slot.replica.name == name), None)
    if point is None or pod.name == name:
        return False
    began, since = _last_run_began(pod), _running_since(point)
    lost = [moment for moment in _losses(status, point) if moment <= failed]
    return any(began is None or began <= moment for moment in lost) or (bool(lost) and (since is None or failed <= since))


def _losses(status: JobStatus, point: objects.Pod) -> list[Time]:
    """Clocks count seconds: of two that failed in place in the same one, either may have been first, and both are kept."""
    inside = failure_records.last_failed_termination(point)
    known = (record for record in (status.failure, status.last_failure) if record is not None and record.pod == point.name)
    found = [record.time for record in known if record.time is not None and record.uid != point.metadata.uid]
    if inside is not None and inside.finished_at is not None:
        found.append(inside.finished_at + TICK)
    return found


def _running_since(pod: objects.Pod) -> Time | None:
    found = [status.state.running for status in pod.status.container_statuses]
    return max((each.started_at for each in found if each is not None and each.started_at is not None), default=None)


def _last_run_began(pod: objects.Pod) -> Time | None:
    ended = failure_records.last_failed_termination(pod)
    return ended.started_at if ended is not None else None
