"""Why a job does not run, in one sentence that names the object and, where there is one, the remedy."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator, Sequence

from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.observed import Refusal
from traincrew.model.status import JobStatus, Why
from traincrew.planner import clock, gang, host_ports
from traincrew.planner.actions import ListEvents
from traincrew.planner.replicas import Replicas

SLOW_START = dt.timedelta(seconds=10)
NO_PROGRESS = dt.timedelta(seconds=30)
MESSAGE_LIMIT = 1024
QUERIED_PODS = 3
"""Pods of one job whose events are listed: what keeps the others from starting is rarely something else."""
NO_PORTS = "NoHostPorts"
SAME_REASON = " (the same for "

_HARMLESS = ("ContainerCreating", "PodInitializing", "")


@dataclasses.dataclass(frozen=True)
class WaitingReason:
    reason: str
    message: str
    since: Time | None = None
    """It is one only from this moment on."""


def find(replicas: Replicas, status: JobStatus, now: Time) -> tuple[Why | None, list[Time | None]]:
    """The most telling obstacle, or None; and the moments at which an unchanged world would be explained otherwise."""
    found = list(_obstacles(replicas, status, now))
    later: list[Time | None] = [obstacle.since for obstacle in found if obstacle.since is not None and now < obstacle.since]
    asked = (slow_start_at(pod) for pod in _unasked(replicas))
    later += [moment for moment in asked if moment is not None and now < moment]
    present = next((obstacle for obstacle in found if obstacle.since is None or now >= obstacle.since), None)
    if present is None:
        return None, later
    return with_since(status.why, present.reason, present.message, now), later


def with_since(before: Why | None, reason: str, message: str, now: Time) -> Why:
    """An explanation bears the date at which its reason first appeared."""
    since = before.since if before is not None and before.reason == reason else clock.whole(now)
    return Why(reason=reason, message=message[:MESSAGE_LIMIT], since=since)


def _obstacles(replicas: Replicas, status: JobStatus, now: Time) -> Iterator[WaitingReason]:
    for refusal in sorted(replicas.observed.refusals, key=lambda entry: (entry.resource, entry.name)):
        yield _refused(refusal)
    if gang.awaits_admission(replicas):
        message = f"PodGroup {replicas.job.name} is not admitted yet: its queue has no room for the whole gang"
        yield WaitingReason("WaitingForGang", message)
    if complaint := host_ports.shortage(replicas):
        yield WaitingReason(NO_PORTS, complaint)
    pods = [*replicas.own_pods, *replicas.delegated_pods]
    live = [pod for pod in pods if not pod.terminating and not pod.finished]
    for judge in (_container_trouble, _unschedulable):
        yield from _first_of(live, judge)
    for pod in (pod for pod in live if slow_start_at(pod) is not None):  # what was said before it started is history
        for event in replicas.observed.pod_events.get(pod.metadata.uid, ())[-1:]:
            yield WaitingReason(event.reason, f"pod {pod.name} does not start: {event.message}")
    for pod in pods:
        yield from _overdue(replicas, pod, now)
    retry = status.restarts.retry_at
    if retry is not None and now < retry:
        message = f"pods are re-created at {retry:%H:%M:%S} UTC, after {status.restarts.streak} losses in a row"
        yield WaitingReason("BackOff", message)
    yield from _left_failed(replicas, frozenset(status.restarts.entered))
    if not status.is_true("Running"):
        yield from _undecided(replicas, status)


def _overdue(replicas: Replicas, pod: objects.Pod, now: Time) -> Iterator[WaitingReason]:
    """What is no trouble in itself, but has taken too long."""
    if pod.metadata.deletion_timestamp is not None:
        yield WaitingReason("StuckTerminating", _stuck(pod), pod.metadata.deletion_timestamp + SLOW_START)
    elif pod.status.phase == "Unknown":
        yield WaitingReason("NodeUnreachable", f"nothing is heard of pod {pod.name}: is node {pod.spec.node_name} up?")
    elif slow_start_at(pod) is not None and pod.metadata.uid in replicas.observed.pod_events:
        yield WaitingReason("NotStarted", _slow(pod), (slow_start_at(pod) or now) + NO_PROGRESS)
    elif unscheduled_at(pod) is not None:
        message = f"pod {pod.name} has not been looked at by any scheduler: {_scheduler(replicas)}"
        yield WaitingReason("NotScheduled", message, unscheduled_at(pod))


def _left_failed(replicas: Replicas, replaced: frozenset[str]) -> Iterator[WaitingReason]:
    for pod in (slot.pod for slot in replicas.slots if slot.pod is not None):
        if pod.status.phase == "Failed" and not pod.terminating and pod.metadata.uid not in replaced:
            yield WaitingReason("ReplicaFailed", f"pod {pod.name} has failed, and restartPolicy Never leaves it so")


def _undecided(replicas: Replicas, status: JobStatus) -> Iterator[WaitingReason]:
    leading = replicas.kind.leading(replicas.job)
    if not any(replicas.job.count(role) for role in leading):
        yield WaitingReason("NothingToRun", f"the job has no {' or '.join(leading)} replica, on which its state depends")
    if replicas.delegates and all(pod.finished for pod in replicas.delegated_pods) and status.start_time is not None:
        launcher = next((entry for entry in replicas.observed.batch_jobs), None)
        if launcher is None:
            yield WaitingReason("WaitingForWorkers", _unready(replicas), status.start_time + NO_PROGRESS)
        elif launcher.metadata.creation_timestamp is not None:
            message = f"Job {launcher.metadata.name} has no live pod: its events tell why"
            yield WaitingReason("NoLauncherPod", message, max(launcher.metadata.creation_timestamp, status.start_time) + NO_PROGRESS)


def _unready(replicas: Replicas) -> str:
    ready = sum(slot.pod is not None and slot.pod.ready for slot in replicas.slots)
    return f"the launcher is started when all workers are ready: {ready} of {len(replicas.slots)} are"


def _scheduler(replicas: Replicas) -> str:
    if named := replicas.observed.planning.gang_scheduler:
        return f"is {named} running?"
    return "is one running (kube-scheduler, or the controllers of `traincrew up`)?"


def _first_of(pods: Sequence[objects.Pod], judge: Callable[[objects.Pod], WaitingReason | None]) -> Iterator[WaitingReason]:
    found = [trouble for trouble in map(judge, pods) if trouble is not None]
    if found:
        same = sum(other.reason == found[0].reason for other in found)
        tail = f"{SAME_REASON}{same} of {len(pods)} pods)" if same > 1 else ""
        yield dataclasses.replace(found[0], message=found[0].message + tail)


def _refused(refusal: Refusal) -> WaitingReason:
    kind = refusal.resource.kind
    if refusal.foreign:
        return WaitingReason("NameTaken", f"{kind} {refusal.name} exists and does not belong to this job: delete or rename it")
    reason = "QuotaExceeded" if "exceeded quota" in refusal.message else f"FailedCreate{kind}"
    return WaitingReason(reason, f"{kind} {refusal.name} cannot be created: {refusal.message}")


def _container_trouble(pod: objects.Pod) -> WaitingReason | None:
    for status in pod.status.init_container_statuses:
        ended = status.state.terminated or status.last_state.terminated
        if status.state.running is None and ended is not None and ended.exit_code != 0:
            text = f": {ended.message.strip()}" if ended.message else ""
            message = f"init container {status.name} of pod {pod.name} exited with {ended.exit_code}{text}"
            return WaitingReason("InitContainerFailed", message)
    for status in pod.status.init_container_statuses + pod.status.container_statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in _HARMLESS:
            ended = status.last_state.terminated
            last = f" (last exit code {ended.exit_code})" if ended else ""
            message = f"container {status.name} of pod {pod.name}: {waiting.message or waiting.reason}{last}"
            return WaitingReason(waiting.reason, message)
    return None


def _unschedulable(pod: objects.Pod) -> WaitingReason | None:
    scheduled = pod.status.condition("PodScheduled")
    if pod.status.phase == "Pending" and scheduled is not None and scheduled.status == "False":
        return WaitingReason(scheduled.reason or "Unschedulable", f"pod {pod.name} cannot be scheduled: {scheduled.message}")
    return None


def _stuck(pod: objects.Pod) -> str:
    node = f" on node {pod.spec.node_name}" if pod.spec.node_name else ""
    return (
        f"pod {pod.name}{node} should have ended by {pod.metadata.deletion_timestamp:%H:%M:%S} UTC and has not: if its node "
        f"is gone, delete it with --grace-period=0 --force; else look for finalizers"
    )


def _slow(pod: objects.Pod) -> str:
    waiting = next((status.name for status in pod.status.init_container_statuses if status.state.running), None)
    if waiting is not None:
        return f"init container {waiting} of pod {pod.name} is still running: its log tells what it waits for"
    return f"pod {pod.name} is still being created on node {pod.spec.node_name}"


def slow_start_at(pod: objects.Pod) -> Time | None:
    """When a pod that is placed but not started has taken long enough to ask why."""
    scheduled = pod.status.condition("PodScheduled")
    placed = bool(pod.spec.node_name) or (scheduled is not None and scheduled.status == "True")
    if pod.status.phase != "Pending" or pod.terminating or not placed or pod.metadata.creation_timestamp is None:
        return None
    return pod.metadata.creation_timestamp + SLOW_START


def unscheduled_at(pod: objects.Pod) -> Time | None:
    if pod.status.phase != "Pending" or pod.terminating or pod.spec.node_name or pod.metadata.creation_timestamp is None:
        return None
    return None if pod.status.condition("PodScheduled") is not None else pod.metadata.creation_timestamp + NO_PROGRESS


def event_queries(replicas: Replicas, now: Time) -> list[ListEvents]:
    """Pods to ask about now: those that are placed and do not start."""
    return [ListEvents(pod.name, pod.metadata.uid) for pod in _unasked(replicas) if now >= (slow_start_at(pod) or now)]


def _unasked(replicas: Replicas) -> list[objects.Pod]:
    slow = [pod for pod in (*replicas.own_pods, *replicas.delegated_pods) if slow_start_at(pod) is not None]
    asked = sum(pod.metadata.uid in replicas.observed.pod_events for pod in slow)
    return [pod for pod in slow if pod.metadata.uid not in replicas.observed.pod_events][: max(QUERIED_PODS - asked, 0)]
