"""Why a job does not run, in one sentence that names the object and, where there is one, the remedy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.observed import Refusal
from traincrew.model.status import JobStatus, Why
from traincrew.planner import gang
from traincrew.planner.actions import ListEvents
from traincrew.planner.crew import Crew

SLOW = dt.timedelta(seconds=10)
UNSEEN = dt.timedelta(seconds=30)
LIMIT = 1024

_HARMLESS = ("ContainerCreating", "PodInitializing", "")


def explain(crew: Crew, status: JobStatus, now: Time) -> Why | None:
    """The most telling obstacle, or None. It is dated by when its reason first appeared."""
    found = next(_obstacles(crew, status, now), None)
    if found is None:
        return None
    reason, message = found
    before = status.why
    since = before.since if before is not None and before.reason == reason else now.replace(microsecond=0)
    return Why(reason=reason, message=message[:LIMIT], since=since)


def _obstacles(crew: Crew, status: JobStatus, now: Time) -> Iterator[tuple[str, str]]:
    for refusal in crew.observed.refusals:
        yield _refused(refusal)
    if gang.held_back(crew):
        yield "WaitingForGang", f"PodGroup {crew.job.name} is not admitted yet: its queue has no room for the whole gang"
    pods = [*crew.own_pods, *crew.delegated_pods]
    live = [pod for pod in pods if not pod.terminating and not pod.finished]
    for judge in (_container_trouble, _unschedulable):
        yield from _first_of(live, judge)
    for pod in live:
        for event in crew.observed.pod_events.get(pod.metadata.uid, ())[-1:]:
            yield event.reason, f"pod {pod.name} does not start: {event.message}"
    for pod in pods:
        if stuck_at(pod) is not None and now >= (stuck_at(pod) or now):
            yield "StuckTerminating", _stuck(pod)
        elif unseen_at(pod) is not None and now >= (unseen_at(pod) or now):
            yield "NotScheduled", f"pod {pod.name} has not been looked at by any scheduler: is {_scheduler(crew)} running?"
    retry = status.restarts.retry_at
    if retry is not None and now < retry:
        yield "BackOff", f"pods are re-created at {retry:%H:%M:%S} UTC, after {status.restarts.streak} losses in a row"


def _scheduler(crew: Crew) -> str:
    return crew.observed.planning.gang_scheduler or "kube-scheduler"


def _first_of(pods: list[objects.Pod], judge: object) -> Iterator[tuple[str, str]]:
    assert callable(judge)
    found = [trouble for trouble in (judge(pod) for pod in pods) if trouble is not None]
    if found:
        reason, message = found[0]
        same = sum(other[0] == reason for other in found)
        yield reason, message if same == 1 else f"{message} (the same for {same} of {len(pods)} pods)"


def _refused(refusal: Refusal) -> tuple[str, str]:
    kind = refusal.resource.kind
    if refusal.foreign:
        return "NameTaken", f"{kind} {refusal.name} exists and does not belong to this job: delete or rename it"
    if "exceeded quota" in refusal.message:
        return "QuotaExceeded", f"{kind} {refusal.name} cannot be created: {refusal.message}"
    return f"FailedCreate{kind}", f"{kind} {refusal.name} cannot be created: {refusal.message}"


def _container_trouble(pod: objects.Pod) -> tuple[str, str] | None:
    for status in pod.status.init_container_statuses:
        ended = status.state.terminated or status.last_state.terminated
        if status.state.running is None and ended is not None and ended.exit_code != 0:
            text = f": {ended.message.strip()}" if ended.message else ""
            return "InitContainerFailed", f"init container {status.name} of pod {pod.name} exited with {ended.exit_code}{text}"
    for status in pod.status.init_container_statuses + pod.status.container_statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in _HARMLESS:
            ended = status.last_state.terminated
            last = f" (last exit code {ended.exit_code})" if ended else ""
            return waiting.reason, f"container {status.name} of pod {pod.name}: {waiting.message or waiting.reason}{last}"
    return None


def _unschedulable(pod: objects.Pod) -> tuple[str, str] | None:
    scheduled = pod.status.condition("PodScheduled")
    if pod.status.phase == "Pending" and scheduled is not None and scheduled.status == "False":
        return scheduled.reason or "Unschedulable", f"pod {pod.name} cannot be scheduled: {scheduled.message}"
    return None


def _stuck(pod: objects.Pod) -> str:
    node = f" on node {pod.spec.node_name}" if pod.spec.node_name else ""
    return (
        f"pod {pod.name}{node} should have ended by {pod.metadata.deletion_timestamp:%H:%M:%S} UTC and has not: if its node "
        f"is gone, delete it with --grace-period=0 --force; else look for finalizers"
    )


def stuck_at(pod: objects.Pod) -> Time | None:
    """When a pod that is being deleted has overrun its grace (which deletionTimestamp includes)."""
    return pod.metadata.deletion_timestamp + SLOW if pod.metadata.deletion_timestamp is not None else None


def slow_at(pod: objects.Pod) -> Time | None:
    """When a pod that is placed but not started has taken long enough to ask why."""
    scheduled = pod.status.condition("PodScheduled")
    placed = bool(pod.spec.node_name) or (scheduled is not None and scheduled.status == "True")
    if pod.status.phase != "Pending" or pod.terminating or not placed or pod.metadata.creation_timestamp is None:
        return None
    return pod.metadata.creation_timestamp + SLOW


def unseen_at(pod: objects.Pod) -> Time | None:
    if pod.status.phase != "Pending" or pod.terminating or pod.spec.node_name or pod.metadata.creation_timestamp is None:
        return None
    return None if pod.status.condition("PodScheduled") is not None else pod.metadata.creation_timestamp + UNSEEN


def inquiries(crew: Crew, now: Time) -> tuple[list[ListEvents], list[Time]]:
    """Pods to ask about now, and the moments at which an unchanged world would deserve another look."""
    asks, moments = [], []
    for pod in (*crew.own_pods, *crew.delegated_pods):
        slow = slow_at(pod)
        if slow is not None and pod.metadata.uid not in crew.observed.pod_events:
            if now >= slow:
                asks.append(ListEvents(pod.name, pod.metadata.uid))
            else:
                moments.append(slow)
        for moment in (stuck_at(pod), unseen_at(pod)):
            if moment is not None and now < moment:
                moments.append(moment)
    return asks, moments
