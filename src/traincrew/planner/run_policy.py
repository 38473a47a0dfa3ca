"""The run policy: deadline, back-off limit, clean-up of pods, and time to live after the end."""

from __future__ import annotations

from traincrew.model import objects, resources
from traincrew.model.meta import Time
from traincrew.model.status import JobStatus, Restarts
from traincrew.planner import deadlines, pods_and_services, restarts
from traincrew.planner.actions import Action, Patch
from traincrew.planner.replicas import Replicas

DELETE_ALL_AFTER = ("BackoffLimit", "Deadline")
"""Endings after which every pod is deleted, regardless of cleanPodPolicy. The status keeps the first failure."""


def deadline(replicas: Replicas, status: JobStatus) -> Time | None:
    seconds = replicas.job.policy.active_deadline_seconds
    if seconds is None or status.start_time is None or _launcher_has_limits(replicas):
        return None
    return deadlines.due(status.start_time, seconds)


def backoff_limit_exceeded(replicas: Replicas, counts: Restarts) -> bool:
    """A job may replace as many lost pods as its limit says. A container that was restarted inside its pod has used its retry:
    the restart that reaches the limit fails the job, as with the Go operators.
    """
    limit = replicas.job.policy.backoff_limit
    if limit is None or _launcher_has_limits(replicas):
        return False
    inside = restarts.container_restarts(replicas, counts)
    return counts.charged > limit or (inside > 0 and counts.charged + inside >= max(limit, 1))


def _launcher_has_limits(replicas: Replicas) -> bool:
    """A launcher that is a batch Job has its own deadline and back-off limit."""
    return replicas.delegates and bool(replicas.observed.batch_jobs)


def clean_up(replicas: Replicas, status: JobStatus, now: Time) -> tuple[list[Action], Time | None]:
    """The clean-up of a finished job, and when to continue it."""
    policy = "All" if status.ended_by in DELETE_ALL_AFTER else replicas.job.policy.clean_pod_policy
    live = [pod for pod in replicas.own_pods if not pod.terminating]
    if policy == "None":
        return [], None
    if policy is None:
        return _leftovers(replicas, status, now)
    unwanted = [pod for pod in live if not pod.finished] if policy == "Running" else live
    kept = {pod.name for pod in replicas.own_pods if policy == "Running" and pod.finished}
    actions = pods_and_services.delete_pods(unwanted)
    if replicas.kind.pods.services:
        actions += pods_and_services.delete_services(replicas, kept)
    return actions, None


def _leftovers(replicas: Replicas, status: JobStatus, now: Time) -> tuple[list[Action], Time | None]:
    """Without a cleanPodPolicy pods and logs are kept. Pods that still run after the grace period are ended, not deleted."""
    running = [pod for pod in replicas.own_pods if not pod.finished and not pod.terminating and not _has_deadline(pod)]
    ended = _ended_at(status)
    if not running or ended is None:
        return [], None
    due = deadlines.due(ended, replicas.observed.planning.finished_job_pod_grace)
    if due is None or now < due:
        return [], due
    # An unscheduled pod has no log to keep and no kubelet to end it.
    waiting = [pod for pod in running if not pod.spec.node_name]
    placed = [pod for pod in running if pod.spec.node_name]
    limits = [Patch(resources.PODS, pod.name, {"spec": {"activeDeadlineSeconds": 1}}) for pod in placed]
    return [*pods_and_services.delete_pods(waiting), *limits], None


def _has_deadline(pod: objects.Pod) -> bool:
    return pod.spec.active_deadline_seconds == 1


def expiry(replicas: Replicas, status: JobStatus) -> Time | None:
    seconds, ended = replicas.job.policy.ttl_seconds_after_finished, _ended_at(status)
    return None if seconds is None or ended is None else deadlines.due(ended, seconds)


def _ended_at(status: JobStatus) -> Time | None:
    if status.completion_time is not None:
        return status.completion_time
    # Another operator finished the job without a completion time.
    times = (entry.last_transition_time for entry in status.conditions if entry.type in ("Succeeded", "Failed"))
    return next((time for time in times if time is not None), None)
