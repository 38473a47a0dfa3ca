"""Scale-down of jobs whose replicas are connected: a surplus replica leaves the host list at once, its pod is deleted later.

The start of the drain is an annotation on the pod, so that another operator can continue the drain.
"""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Time
from traincrew.model.status import JobStatus
from traincrew.planner import clock, pods_and_services
from traincrew.planner.actions import Action, Create, Patch
from traincrew.planner.replicas import Replicas


def remove_surplus(replicas: Replicas, now: Time) -> tuple[list[Action], Time | None]:
    """Drain and delete surplus pods. Also returns when the next drain ends."""
    seconds = replicas.kind.lifecycle.drain_seconds(replicas.job)
    if not seconds or not _launcher_is_running(replicas):
        return pods_and_services.delete_pods(replicas.surplus_pods), None
    drain = dt.timedelta(seconds=seconds)
    pods = [slot.pod for slot in replicas.slots if slot.pod is not None]
    actions: list[Action] = [_annotate(pod, None) for pod in pods if _draining_since(pod)]
    ends: list[Time | None] = []
    for pod in replicas.surplus_pods:
        since = _draining_since(pod)
        if not pod.active or (since is not None and now >= since + drain):
            actions += pods_and_services.delete_pods([pod])
            continue
        if since is None:
            actions.append(_annotate(pod, now))
        ends.append((since or clock.whole(now)) + drain)
    return actions, clock.earliest(ends)


def mark_replacements(replicas: Replicas, status: JobStatus, created: list[Create]) -> list[Create]:
    """Annotate pods that are created after a loss: the launcher must distinguish them from their predecessors."""
    losses = status.restarts.charged + status.restarts.disruptions
    if not losses or not replicas.kind.lifecycle.drain_seconds(replicas.job):
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
