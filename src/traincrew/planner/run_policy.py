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


def deadline(crew: Replicas, status: JobStatus) -> Time | None:
    seconds = crew.job.policy.active_deadline_seconds
    if seconds is None or status.start_time is None or _launcher_has_limits(crew):
        return None
    return clock.due(status.start_time, seconds)


def over_limit(crew: Replicas, book: Restarts) -> bool:
    """A limit of 0 and one of 1 mean the same: the first restart is one too many."""
    limit = crew.job.policy.backoff_limit
    if limit is None or _launcher_has_limits(crew):
        return False
    return book.charged + restarts.container_restarts(crew, book) >= max(limit, 1)


def _launcher_has_limits(crew: Replicas) -> bool:
    """A launcher that is a batch Job carries deadline and limit itself."""
    return crew.delegates and bool(crew.observed.batch_jobs)


def clean_up(crew: Replicas, status: JobStatus, now: Time) -> tuple[list[Action], Time | None]:
    """What a finished job still has to put away, and when to look again."""
    rule = "All" if status.ended_by in SWEEPING else crew.job.policy.clean_pod_policy
    live = [pod for pod in crew.own_pods if not pod.terminating]
    if rule == "None":
        return [], None
    if rule is None:
        return _leftovers(crew, status, now)
    doomed = [pod for pod in live if not pod.finished] if rule == "Running" else live
    kept = {pod.name for pod in crew.own_pods if rule == "Running" and pod.finished}
    actions = desired.deletes(doomed)
    if crew.kind.pods.services:
        actions += desired.service_deletes(crew, kept)
    return actions, None


def _leftovers(crew: Replicas, status: JobStatus, now: Time) -> tuple[list[Action], Time | None]:
    """Where nobody said what to clean, pods and logs stay; what still runs after a while is ended, not deleted."""
    running = [pod for pod in crew.own_pods if not pod.finished and not pod.terminating and not _short(pod)]
    ended = _ended_at(status)
    if not running or ended is None:
        return [], None
    moment = clock.due(ended, crew.observed.planning.leftover_grace)
    if moment is None or now < moment:
        return [], moment
    # A pod that no node has yet has no log to keep, and no kubelet to end it.
    waiting = [pod for pod in running if not pod.spec.node_name]
    placed = [pod for pod in running if pod.spec.node_name]
    limits = [Patch(resources.PODS, pod.name, {"spec": {"activeDeadlineSeconds": 1}}) for pod in placed]
    return [*desired.deletes(waiting), *limits], None


def _short(pod: objects.Pod) -> bool:
    return pod.spec.active_deadline_seconds == 1


def expiry(crew: Replicas, status: JobStatus) -> Time | None:
    seconds, ended = crew.job.policy.ttl_seconds_after_finished, _ended_at(status)
    return None if seconds is None or ended is None else clock.due(ended, seconds)


def _ended_at(status: JobStatus) -> Time | None:
    if status.completion_time is not None:
        return status.completion_time
    # A job that another operator has finished without writing the time.
    times = (entry.last_transition_time for entry in status.conditions if entry.type in ("Succeeded", "Failed"))
    return next((time for time in times if time is not None), None)
