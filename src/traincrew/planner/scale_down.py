"""Scale-down of jobs whose replicas are connected.

If the job has a host list, a surplus replica leaves it at once, and its pod is deleted later. If the replicas find each other by
themselves, none is deleted while they do. Times are annotations on pods, so that another operator can continue.
"""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Time
from traincrew.model.status import JobStatus
from traincrew.planner import clock, pods_and_services
from traincrew.planner.actions import Action, Create, Delete, Patch
from traincrew.planner.replicas import Replicas


def remove_surplus(replicas: Replicas, now: Time) -> tuple[list[Action], Time | None]:
    """Drain and delete surplus pods. Also returns when the next drain ends."""
    if settle := replicas.kind.lifecycle.settle_seconds(replicas.job):
        return _remove_settled(replicas, now, dt.timedelta(seconds=settle))
    seconds = replicas.kind.lifecycle.drain_seconds(replicas.job)
    if not seconds or not _launcher_is_running(replicas):
        return pods_and_services.delete_pods(replicas.surplus_pods), None
    drain = dt.timedelta(seconds=seconds)
    pods = [slot.pod for slot in replicas.slots if slot.pod is not None]
    actions: list[Action] = [_annotate(pod, None) for pod in pods if _draining_since(pod)]
    ends: list[Time | None] = []
    for pod in replicas.surplus_pods:
        since = _draining_since(pod)
        if not pod.active or naming.ORDERLY in pod.metadata.annotations or (since is not None and now >= since + drain):
            actions += pods_and_services.delete_pods([pod])
            continue
        if since is None:
            actions.append(_annotate(pod, now))
        ends.append((since or clock.whole(now)) + drain)
    return actions, clock.earliest(ends)


def kept_surplus(replicas: Replicas, actions: list[Action]) -> set[str]:
    """The names of surplus pods that are not deleted yet."""
    deleted = {action.name for action in actions if isinstance(action, Delete)}
    return {pod.name for pod in replicas.surplus_pods if not pod.terminating} - deleted


def _remove_settled(replicas: Replicas, now: Time, settle: dt.timedelta) -> tuple[list[Action], Time | None]:
    """A replica that is removed while the others wait for it would be waited for until a timeout of the framework."""
    remaining = [slot.pod for slot in replicas.slots if slot.pod is not None and slot.pod.active]
    connected = [pod for pod in replicas.surplus_pods if pod.active and not pod.terminating and _running_since(pod)]
    if not remaining or not connected:
        return pods_and_services.delete_pods(replicas.surplus_pods), None
    changes = [_running_since(pod) for pod in (*remaining, *connected)] + [_replica_removed_at(pod) for pod in remaining]
    settled = max(change for change in changes if change is not None) + settle
    if now < settled:
        return pods_and_services.delete_pods(pod for pod in replicas.surplus_pods if pod not in connected), settled
    removed_at = {"metadata": {"annotations": {naming.REPLICA_REMOVED_AT: times.rfc3339(clock.whole(now))}}}
    mark = Patch(resources.PODS, remaining[0].name, removed_at)
    return [mark, *pods_and_services.delete_pods(replicas.surplus_pods)], None


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
            meta["annotations"] = {**meta.get("annotations", {}), naming.RETURNED: str(losses)}
    return created


def _launcher_is_running(replicas: Replicas) -> bool:
    own = [slot.pod for slot in replicas.slots if not slot.replica.role.indexed and slot.pod is not None]
    return any(pod.active and pod.status.phase == "Running" for pod in (*own, *replicas.delegated_pods))


def _draining_since(pod: objects.Pod) -> Time | None:
    try:
        return times.parse_optional(pod.metadata.annotations.get(naming.DRAINING_SINCE))
    except times.TimeError:
        return None


def _annotate(pod: objects.Pod, now: Time | None) -> Patch:
    text = times.rfc3339(now) if now is not None else None
    return Patch(resources.PODS, pod.name, {"metadata": {"annotations": {naming.DRAINING_SINCE: text}}})
