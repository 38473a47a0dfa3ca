"""Replicas that come and go while others talk to them: who has to go is off the list at once and gets time to say goodbye.

Since when one is leaving is written on its pod: an operator that takes over goes on counting.
"""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times
from traincrew.model import naming, objects, resources
from traincrew.model.meta import Time
from traincrew.model.status import JobStatus
from traincrew.planner import clock, desired
from traincrew.planner.actions import Action, Create, Patch
from traincrew.planner.replicas import Replicas


def remove_surplus(replicas: Replicas, now: Time) -> tuple[list[Action], Time | None]:
    """What is to be done about pods that no replica stands for any more, and when to look again."""
    grace = replicas.kind.lifecycle.drain_seconds(replicas.job)
    if not grace or not _met(replicas):
        return desired.delete_pods(replicas.surplus_pods), None
    actions: list[Action] = [_marked(slot.pod, None) for slot in replicas.slots if slot.pod is not None and _since(slot.pod)]
    moments: list[Time | None] = []
    for pod in replicas.surplus_pods:
        since = _since(pod)
        if not pod.active or (since is not None and now >= since + dt.timedelta(seconds=grace)):
            actions += desired.delete_pods([pod])
            continue
        if since is None:
            actions.append(_marked(pod, now))
        moments.append((since or clock.whole(now)) + dt.timedelta(seconds=grace))
    return actions, clock.earliest(moments)


def mark_replacements(replicas: Replicas, status: JobStatus, created: list[Create]) -> list[Create]:
    """Pods made after a loss are marked: whoever has met their predecessors must be able to tell them apart."""
    count = status.restarts.charged + status.restarts.disruptions
    if not count or not replicas.kind.lifecycle.drain_seconds(replicas.job):
        return created
    for action in created:
        if action.resource == resources.PODS:
            meta = action.body["metadata"]
            meta["annotations"] = {**meta.get("annotations", {}), naming.RETURNED: str(count)}
    return created


def _met(replicas: Replicas) -> bool:
    """Whether somebody runs who would miss them."""
    leading = [slot.pod for slot in replicas.slots if not slot.replica.role.indexed and slot.pod is not None]
    return any(pod.active and pod.status.phase == "Running" for pod in (*leading, *replicas.delegated_pods))


def _since(pod: objects.Pod) -> Time | None:
    try:
        return dt.datetime.fromisoformat(pod.metadata.annotations.get(naming.LEAVING_SINCE, ""))
    except ValueError:
        return None


def _marked(pod: objects.Pod, now: Time | None) -> Patch:
    text = times.rfc3339(clock.whole(now)) if now is not None else None
    return Patch(resources.PODS, pod.name, {"metadata": {"annotations": {naming.LEAVING_SINCE: text}}})
