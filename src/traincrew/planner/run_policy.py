"""Limits and clean-up: deadline, back-off limit, what goes when a job ends or is suspended, and when the job itself goes."""

from __future__ import annotations

from traincrew.model import objects, resources
from traincrew.model.meta import Time
from traincrew.model.status import JobStatus, Restarts
from traincrew.planner import clock, desired, restarts
from traincrew.planner.actions import Action, Patch
from traincrew.planner.replicas import Replicas

SWEEPING = ("BackoffLimit", "Deadline")
"""Endings after which every pod goes, whatever cleanPodPolicy says; the first failure is kept in the status."""


def deadline(replicas: Replicas, status: JobStatus) -> Time | None:
    seconds = replicas.job.policy.active_deadline_seconds
    if seconds is None or status.start_time is None or _launcher_has_limits(replicas):
        return None
    return clock.due(status.start_time, seconds)


def over_limit(replicas: Replicas, book: Restarts) -> bool:
    """A limit of 0 and one of 1 mean the same: the first restart is one too many."""
    limit = replicas.job.policy.backoff_limit
    if limit is None or _launcher_has_limits(replicas):
        return False
    return book.charged + restarts.container_restarts(replicas, book) >= max(limit, 1)


def _launcher_has_limits(replicas: Replicas) -> bool:
    """A launcher that is a batch Job carries deadline and limit itself."""
    return replicas.delegates and bool(replicas.observed.batch_jobs)


def clean_up(replicas: Replicas, status: JobStatus, now: Time) -> tuple[list[Action], Time | None]:
    """What a finished job still has to put away, and when to look again."""
    rule = "All" if status.ended_by in SWEEPING else replicas.job.policy.clean_pod_policy
    live = [pod for pod in replicas.own_pods if not pod.terminating]
    if rule == "None":
        return [], None
    if rule is None:
        return _leftovers(replicas, status, now)
    doomed = [pod for pod in live if not pod.finished] if rule == "Running" else live
    kept = {pod.name for pod in replicas.own_pods if rule == "Running" and pod.finished}
    actions = desired.delete_pods(doomed)
    if replicas.kind.pods.services:
        actions += desired.delete_services(replicas, kept)
    return actions, None


def _leftovers(replicas: Replicas, status: JobStatus, now: Time) -> tuple[list[Action], Time | None]:
    """Where nobody said what to clean, pods and logs stay; what still runs after a while is ended, not deleted."""
    running = [pod for pod in replicas.own_pods if not pod.finished and not pod.terminating and not _short(pod)]
    ended = _ended_at(status)
    if not running or ended is None:
        return [], None
    moment = clock.due(ended, replicas.observed.planning.leftover_grace)
    if moment is None or now < moment:
        return [], moment
    # A pod that no node has yet has no log to keep, and no kubelet to end it.
    waiting = [pod for pod in running if not pod.spec.node_name]
    placed = [pod for pod in running if pod.spec.node_name]
    limits = [Patch(resources.PODS, pod.name, {"spec": {"activeDeadlineSeconds": 1}}) for pod in placed]
    return [*desired.delete_pods(waiting), *limits], None


def _short(pod: objects.Pod) -> bool:
    return pod.spec.active_deadline_seconds == 1


def expiry(replicas: Replicas, status: JobStatus) -> Time | None:
    seconds, ended = replicas.job.policy.ttl_seconds_after_finished, _ended_at(status)
    return None if seconds is None or ended is None else clock.due(ended, seconds)


def _ended_at(status: JobStatus) -> Time | None:
    if status.completion_time is not None:
        return status.completion_time
    # A job that another operator has finished without writing the time.
    times = (entry.last_transition_time for entry in status.conditions if entry.type in ("Succeeded", "Failed"))
    return next((time for time in times if time is not None), None)
