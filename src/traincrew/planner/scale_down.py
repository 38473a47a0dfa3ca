"""Scale-down of jobs whose replicas are connected.

If the job has a host list, an excess replica leaves it at once, and its pod is deleted later. If the replicas find each other by
themselves, none is deleted while they do. Times are annotations on pods, so that another operator can continue.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from traincrew.apimachinery import times
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Time
from traincrew.model.status import JobStatus
from traincrew.planner import deadlines, elastic_members, pods_and_services
from traincrew.planner.actions import Action, Create, Delete, Patch
from traincrew.planner.replicas import Replicas


def remove_excess(replicas: Replicas, noticed_until: Time | None, now: Time) -> tuple[list[Action], Time | None]:
    """Drain and delete excess pods. Also returns when the next drain ends. noticed_until: the deadline of a notice."""
    if replicas.kind.lifecycle.removal_pause_seconds(replicas.job, 0, True):
        return _remove_settled(replicas, noticed_until, now)
    seconds = replicas.kind.lifecycle.drain_seconds(replicas.job)
    if not seconds or not _launcher_is_running(replicas):
        return pods_and_services.delete_pods(replicas.excess_pods), None
    drain = dt.timedelta(seconds=seconds)
    pods = [slot.pod for slot in replicas.slots if slot.pod is not None]
    actions: list[Action] = [_annotate(pod, None) for pod in pods if _draining_since(pod)]
    ends: list[Time | None] = []
    for pod in replicas.excess_pods:
        since = _draining_since(pod)
        if not pod.active or naming.ORDERLY in pod.metadata.annotations or (since is not None and now >= since + drain):
            actions += pods_and_services.delete_pods([pod])
            continue
        if since is None:
            actions.append(_annotate(pod, now))
        ends.append((since or deadlines.whole(now)) + drain)
    return actions, deadlines.earliest(ends)


def kept_excess(replicas: Replicas, actions: list[Action]) -> set[str]:
    """The names of excess pods that are not deleted yet."""
    deleted = {action.name for action in actions if isinstance(action, Delete)}
    return {pod.name for pod in replicas.excess_pods if not pod.terminating} - deleted


def _remove_settled(replicas: Replicas, noticed_until: Time | None, now: Time) -> tuple[list[Action], Time | None]:
    """A replica that is removed while the others wait for it would be waited for until a timeout of the framework.

    One whose node ends is removed all the same: it would be lost at a time that nobody chooses. The programs of a job that asks
    for notices have time for a checkpoint in either case.
    """
    remaining = [slot.pod for slot in replicas.slots if slot.pod is not None and slot.pod.active]
    noticed = elastic_members.noticed(replicas)
    running = [pod for pod in replicas.excess_pods if pod.active and _running_since(pod)]
    unhurried = [pod for pod in running if pod.name not in noticed]
    settled = _settled(replicas, remaining, unhurried) if remaining and unhurried else None
    deadline = noticed_until if remaining else None
    held = running if deadline is not None else unhurried if settled is not None and now < settled else []
    later = (deadline or settled) if held else None
    return _mark_removal(remaining, [pod for pod in replicas.excess_pods if pod not in held], now), later


def _settled(replicas: Replicas, remaining: list[objects.Pod], connected: list[objects.Pod]) -> Time:
    """When the processes of the last round are connected at the latest."""
    changes = [(_running_since(pod), False) for pod in (*remaining, *connected)]
    changes += [(_replica_removed_at(pod), True) for pod in remaining]
    active, pause_seconds = len(remaining) + len(connected), replicas.kind.lifecycle.removal_pause_seconds
    pauses = {removed: dt.timedelta(seconds=pause_seconds(replicas.job, active, removed)) for removed in (False, True)}
    return max(time + pauses[removed] for time, removed in changes if time is not None)


def _mark_removal(remaining: list[objects.Pod], removed: Sequence[objects.Pod], now: Time) -> list[Action]:
    """The deletions, with the time as an annotation on a pod that remains if a running replica is removed."""
    deletions = pods_and_services.delete_pods(removed)
    if not remaining or not any(pod.active and _running_since(pod) for pod in removed):
        return deletions
    removed_at = {"metadata": {"annotations": {naming.REPLICA_REMOVED_AT: times.rfc3339(deadlines.whole(now))}}}
    return [Patch(resources.PODS, remaining[0].name, removed_at), *deletions]


def _running_since(pod: objects.Pod) -> Time | None:
    """When its last container started."""
    started = [status.state.running.started_at for status in pod.status.container_statuses if status.state.running is not None]
    return max((time for time in started if time is not None), default=None)


def _replica_removed_at(pod: objects.Pod) -> Time | None:
    try:
        return times.parse_optional(pod.metadata.annotations.get(naming.REPLICA_REMOVED_AT))
    except ValueError:
        return None


def mark_replacements(replicas: Replicas, status: JobStatus, created: list[Create]) -> list[Create]:
    """Annotate pods that are created after a loss: the launcher must distinguish them from their predecessors."""
    losses = status.restarts.charged + status.restarts.disruptions
    resized = status.elastic is not None and status.elastic.last_resize is not None
    if not (losses or resized) or not replicas.kind.lifecycle.drain_seconds(replicas.job):
        return created
    for action in created:
        if action.resource == resources.PODS:
            meta = action.body["metadata"]
            meta["annotations"] = {**meta.get("annotations", {}), naming.REPLACES_LOST_POD: str(losses)}
    return created


def _launcher_is_running(replicas: Replicas) -> bool:
    own = [slot.pod for slot in replicas.slots if not slot.replica.role.indexed and slot.pod is not None]
    return any(pod.active and pod.status.phase == "Running" for pod in (*own, *replicas.delegated_pods))


def _draining_since(pod: objects.Pod) -> Time | None:
    try:
        return times.parse_optional(pod.metadata.annotations.get(naming.LEAVING_SINCE))
    except times.TimeError:
        return None


def _annotate(pod: objects.Pod, now: Time | None) -> Patch:
    text = times.rfc3339(now) if now is not None else None
    return Patch(resources.PODS, pod.name, {"metadata": {"annotations": {naming.LEAVING_SINCE: text}}})
