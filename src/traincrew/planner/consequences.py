"""Failures inside living pods that only follow from the loss of another replica: they are no causes, and not recorded as such."""

from __future__ import annotations

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure, JobStatus, Restarts
from traincrew.planner import records
from traincrew.planner.crew import Crew


def follows(crew: Crew, status: JobStatus, pod: objects.Pod, record: Failure) -> bool:
    """Whether the container of that pod failed, as recorded, because another was lost before it."""
    if record.time is None:
        return False
    return _while_incomplete(crew, status.restarts, pod, record.time) or _with_the_meeting_point(crew, status, pod, record.time)


def _while_incomplete(crew: Crew, book: Restarts, pod: objects.Pod, failed: Time) -> bool:
    """In a pod of the lost attempt, before those that replace the lost ones ran."""
    if book.youngest is None or _made_after(pod, book.youngest):
        return False
    since = [_running_since(slot.pod) for slot in crew.slots if slot.pod is not None and _made_after(slot.pod, book.youngest)]
    return any(moment is not None and failed <= moment for moment in since)


def _made_after(pod: objects.Pod, moment: Time) -> bool:
    return pod.metadata.creation_timestamp is not None and pod.metadata.creation_timestamp > moment


def _with_the_meeting_point(crew: Crew, status: JobStatus, pod: objects.Pod, failed: Time) -> bool:
    """In a run that had met at the replica that was lost, however long it took to notice."""
    name = crew.kind.meeting_point(crew.job)
    if not name or pod.name == name:
        return False
    slot = next((slot for slot in crew.slots if slot.replica.name == name), None)
    if slot is None or slot.pod is None or not _lost_before(status, slot.pod, failed):
        return False
    since, began = _running_since(slot.pod), _last_run_began(pod)
    return since is None or began is None or began <= since


def _lost_before(status: JobStatus, point: objects.Pod, failed: Time) -> bool:
    """Clocks count seconds: of two that failed in place in the same one, either may have been first."""
    inside = records.latest_end(point)
    if inside is not None and inside.finished_at is not None and inside.finished_at < failed:
        return True
    known = (record for record in (status.failure, status.last_failure) if record is not None and record.pod == point.name)
    return any(record.uid != point.metadata.uid and record.time is not None and record.time <= failed for record in known)


def _running_since(pod: objects.Pod) -> Time | None:
    found = [status.state.running for status in pod.status.container_statuses]
    return max((each.started_at for each in found if each is not None and each.started_at is not None), default=None)


def _last_run_began(pod: objects.Pod) -> Time | None:
    ended = records.latest_end(pod)
    return ended.started_at if ended is not None else None
