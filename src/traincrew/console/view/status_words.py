"""One vocabulary for the status of jobs of every kind, and the reason for it."""

from __future__ import annotations

import datetime as dt

from traincrew.console.contract.jobs import Status, Why
from traincrew.inspection import failures, observed_job, pod_waiting_reasons
from traincrew.inspection.observed_job import ObservedJob
from traincrew.model.meta import Time
from traincrew.planner import failure_summary

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
UNSEEN_AFTER = dt.timedelta(minutes=1)
"""An operator writes the status of a new job within seconds."""
_STATES: dict[str, Status] = {
    "Failed": "Failed",
    "Succeeded": "Succeeded",
    "Restarting": "Restarting",
    "Running": "Running",
}


def status(observed: ObservedJob, now: Time) -> Status:
    meta = observed.job.metadata
    if meta.deletion_timestamp is not None:
        return "Deleting"
    if observed.job.status.finished:
        return _STATES[observed.state]
    if observed.job.suspended:
        return "Queued" if meta.labels.get(KUEUE_QUEUE) else "Suspended"
    if observed.state in _STATES:
        return _STATES[observed.state]
    if observed.state == "New" and meta.creation_timestamp is not None and now - meta.creation_timestamp > UNSEEN_AFTER:
        return "Unknown"
    return "Queued" if _is_unschedulable(observed) else "Starting"


def _is_unschedulable(observed: ObservedJob) -> bool:
    """Whether no pod has a node, and the scheduler has found none for at least one of them."""
    if not observed.pods or any(pod.spec.node_name for pod in observed.pods):
        return False
    conditions = (pod.status.condition("PodScheduled") for pod in observed.pods)
    return any(each is not None and each.status == "False" for each in conditions)


def why(observed: ObservedJob, now: Time) -> Why | None:
    """Why a job waits, restarts or failed; None if nothing is wrong."""
    current, stored = status(observed, now), observed.job.status
    since = observed_job.since(stored)
    if current in ("Succeeded", "Deleting"):
        return None
    if current == "Failed":
        return Why(reason=_failure_reason(observed), message=failures.summary(observed, ()), since=since)
    if observed.job.suspended:
        message = "the job waits for its queue" if current == "Queued" else "the job is suspended"
        return Why(reason=current, message=message, since=since)
    if current == "Unknown":
        return Why(
            reason="NoOperator", message="no operator has processed the job", since=observed.job.metadata.creation_timestamp
        )
    if stored.why is not None and stored.why != failure_summary.of(stored):
        message = pod_waiting_reasons.without_preemption(stored.why.message)
        return Why(reason=stored.why.reason, message=message, since=stored.why.since)
    message = pod_waiting_reasons.job_reason(observed)
    return Why(reason=observed.state, message=message, since=since) if message else None


def _failure_reason(observed: ObservedJob) -> str:
    if observed.failure is not None and observed.failure.reason:
        return observed.failure.reason
    return next((each.reason for each in observed.job.status.conditions if each.type == "Failed"), "Failed")
