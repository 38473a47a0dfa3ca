"""The pods that a Job must create, and those that it must delete."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable

from traincrew.embedded.controllers.jobs import backoff, pod_indexes, policies
from traincrew.embedded.controllers.jobs.pod_counts import JobPods
from traincrew.embedded.controllers.pods import Pod

MAX_PODS_PER_SYNC = 500
"""Pods created or deleted in one step."""
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


@dataclasses.dataclass(frozen=True)
class NewPod:
    """A pod to create."""

    index: int | None = None
    replaces: Pod | None = None
    """The failed pod of the same index whose failure count the new pod continues."""


@dataclasses.dataclass(frozen=True)
class PodChanges:
    create: tuple[NewPod, ...] = ()
    delete: tuple[Pod, ...] = ()
    wait: float = 0.0
    """Seconds of back-off until pods may be created."""


def pod_changes(job_pods: JobPods, record: backoff.BackoffRecord, now: dt.datetime) -> PodChanges:
    active = len(job_pods.active)
    desired = 0 if job_pods.suspended else _wanted(job_pods)
    if for_removal := _pods_for_removal(job_pods, max(0, active - desired)):
        return PodChanges(delete=tuple(for_removal[:MAX_PODS_PER_SYNC]))
    if job_pods.suspended:
        return PodChanges()
    going = len(job_pods.terminating) if policies.only_failed_are_replaced(job_pods.spec) else 0
    short = desired - going - active
    if short <= 0:
        return PodChanges()
    if not job_pods.per_index and (wait := backoff.remaining(record, now)) > 0:
        return PodChanges(wait=wait)
    return _new_pods(job_pods, min(short, MAX_PODS_PER_SYNC), now)


def _wanted(job_pods: JobPods) -> int:
    parallelism, completions = int(job_pods.spec["parallelism"]), job_pods.spec.get("completions")
    if completions is None:
        return len(job_pods.active) if job_pods.succeeded else parallelism
    return max(0, min(parallelism, int(completions) - job_pods.succeeded))


def _new_pods(job_pods: JobPods, count: int, now: dt.datetime) -> PodChanges:
    if not job_pods.indexed:
        return PodChanges(create=(NewPod(),) * count)
    free = _free(job_pods, count)
    if not job_pods.per_index:
        return PodChanges(create=tuple(NewPod(index) for index in free))
    waits = {index: backoff.remaining_for_index(job_pods.awaiting_replacement.get(index), now) for index in free}
    ready = [index for index in free if waits[index] == 0]
    if ready or not free:
        return PodChanges(create=tuple(NewPod(index, job_pods.awaiting_replacement.get(index)) for index in ready))
    return PodChanges(wait=min(waits.values()))


def _free(job_pods: JobPods, count: int) -> list[int]:
    """The first indexes that no pod has or has completed."""
    taken = {pod_indexes.of(pod) for pod in job_pods.active} | job_pods.completed
    if policies.only_failed_are_replaced(job_pods.spec):
        taken |= {pod_indexes.of(pod) for pod in job_pods.terminating}
    if job_pods.per_index:
        taken |= job_pods.failed_indexes
    indexes: list[int] = []
    for index in range(job_pods.spec["completions"]):
        if len(indexes) == count:
            break
        if index not in taken:
            indexes.append(index)
    return indexes


def _pods_for_removal(job_pods: JobPods, at_least: int) -> list[Pod]:
    """Pods without a valid index first, then those with the least progress."""
    removed: list[Pod] = []
    left = list(job_pods.active)
    if job_pods.indexed:
        removed, left = _without_index(job_pods)
    if len(removed) < at_least:
        removed += sorted(left, key=_deletion_rank)[: at_least - len(removed)]
    return removed


def _without_index(job_pods: JobPods) -> tuple[list[Pod], list[Pod]]:
    removed, kept = [], {}
    for pod in sorted(job_pods.active, key=_deletion_rank, reverse=True):
        index = pod_indexes.of(pod)
        if index is None or not job_pods.valid(pod) or index in kept:
            removed.append(pod)
        else:
            kept[index] = pod
    return removed, list(kept.values())


def _deletion_rank(pod: Pod) -> tuple[bool, int, bool, float, int, float]:
    """The lowest rank is deleted first."""
    ready = pod.condition("Ready")
    since = ready.last_transition_time if ready is not None and pod.ready else None
    created = pod.metadata.creation_timestamp
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        pod.ready,
        -since.timestamp() if since else float("-inf"),
        -_most(status.restart_count for status in pod.status.container_statuses),
        -created.timestamp() if created else float("-inf"),
    )


def _most(counts: Iterable[int]) -> int:
    return max(counts, default=0)
