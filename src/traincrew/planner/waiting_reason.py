"""Why a job does not run, in one sentence that names the object and, if there is one, the remedy."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator, Sequence

from traincrew import errors
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.observed import RejectedWrite
from traincrew.model.status import JobStatus, Why
from traincrew.planner import deadlines, gang, host_ports
from traincrew.planner.actions import ListEvents
from traincrew.planner.replicas import Replicas

SLOW_START = dt.timedelta(seconds=10)
NO_PROGRESS = dt.timedelta(seconds=30)
MESSAGE_LIMIT = 1024
QUERIED_PODS = 3
"""Number of pods per job whose events are listed. The other pods usually wait for the same reason."""
NO_PORTS = "NoHostPorts"
NODE_UNREACHABLE = "NodeUnreachable"
QUOTA_EXCEEDED = "QuotaExceeded"
SAME_REASON = " (the same for "

_HARMLESS = ("ContainerCreating", "PodInitializing", "")


@dataclasses.dataclass(frozen=True)
class WaitingReason:
    reason: str
    message: str
    since: Time | None = None
    """The reason applies only from this time on."""


def find(replicas: Replicas, status: JobStatus, now: Time) -> tuple[Why | None, list[Time | None]]:
    """The most important reason, or None; and the times at which the result changes without a change of the observed objects."""
    reasons = list(_reasons(replicas, status, now))
    later: list[Time | None] = [each.since for each in reasons if each.since is not None and now < each.since]
    queries = (slow_start_at(pod) for pod in _unqueried(replicas))
    later += [time for time in queries if time is not None and now < time]
    present = next((each for each in reasons if each.since is None or now >= each.since), None)
    if present is None:
        return None, later
    return with_since(status.why, present.reason, present.message, now), later


def with_since(before: Why | None, reason: str, message: str, now: Time) -> Why:
    """`since` is the time at which the reason first appeared."""
    since = before.since if before is not None and before.reason == reason else deadlines.whole(now)
    return Why(reason=reason, message=message[:MESSAGE_LIMIT], since=since)


def _reasons(replicas: Replicas, status: JobStatus, now: Time) -> Iterator[WaitingReason]:
    rejections = sorted(replicas.observed.rejected_writes, key=lambda entry: (entry.resource, entry.name))
    for rejected in rejections:
        reason = _rejected_request(rejected, rejections)
        expected_capacity = replicas.observed.expected_capacity if reason.reason == QUOTA_EXCEEDED else ""
        yield dataclasses.replace(reason, message=f"{expected_capacity}: {reason.message}") if expected_capacity else reason
    if gang.awaits_admission(replicas):
        message = f"PodGroup {replicas.job.name} is not admitted yet: its queue has no room for the whole gang"
        yield WaitingReason("WaitingForGang", message)
    if shortage := host_ports.shortage(replicas):
        yield WaitingReason(NO_PORTS, shortage)
    pods = [*replicas.own_pods, *replicas.delegated_pods]
    live = [pod for pod in pods if not pod.terminating and not pod.finished]
    yield from _first_of(live, _container_waiting)
    for reason in _first_of(live, _unschedulable):
        expected_capacity = replicas.observed.expected_capacity
        yield dataclasses.replace(reason, message=f"{expected_capacity}: {reason.message}") if expected_capacity else reason
    for pod in (pod for pod in live if slow_start_at(pod) is not None):  # events of a started pod no longer matter
        for event in replicas.observed.pod_events.get(pod.metadata.uid, ())[-1:]:
            yield WaitingReason(event.reason, f"pod {pod.name} does not start: {event.message}")
    for pod in pods:
        yield from _overdue(replicas, pod, now)
    retry = status.restarts.retry_at
    if retry is not None and now < retry:
        message = f"pods are re-created at {retry:%H:%M:%S} UTC, after {status.restarts.streak} losses in a row"
        yield WaitingReason("BackOff", message)
    yield from _not_restarted(replicas, frozenset(status.restarts.entered))
    if not status.is_true("Running"):
        yield from _undecided(replicas, status)


def _overdue(replicas: Replicas, pod: objects.Pod, now: Time) -> Iterator[WaitingReason]:
    """States that are normal at first, but last too long."""
    if pod.metadata.deletion_timestamp is not None:
        yield WaitingReason("StuckTerminating", _stuck_terminating(pod), pod.metadata.deletion_timestamp + SLOW_START)
    elif pod.node_lost:
        yield WaitingReason(NODE_UNREACHABLE, _lost_node_message(pod))
    elif slow_start_at(pod) is not None and pod.metadata.uid in replicas.observed.pod_events:
        yield WaitingReason("NotStarted", _slow_start(pod), (slow_start_at(pod) or now) + NO_PROGRESS)
    elif unscheduled_at(pod) is not None:
        message = f"no scheduler has processed pod {pod.name}: {_scheduler(replicas)}"
        yield WaitingReason("NotScheduled", message, unscheduled_at(pod))


def _lost_node_message(pod: objects.Pod) -> str:
    return (
        f"node {pod.spec.node_name} does not respond, and the state of pod {pod.name} is unknown: "
        "the pod is evicted and replaced when its tolerations of the node expire (after 5 minutes by default)"
    )


def _not_restarted(replicas: Replicas, replaced: frozenset[str]) -> Iterator[WaitingReason]:
    for pod in (slot.pod for slot in replicas.slots if slot.pod is not None):
        if pod.status.phase == "Failed" and not pod.terminating and pod.metadata.uid not in replaced:
            yield WaitingReason("ReplicaFailed", f"pod {pod.name} failed and is not restarted: its restartPolicy is Never")


def _undecided(replicas: Replicas, status: JobStatus) -> Iterator[WaitingReason]:
    leading = replicas.kind.leading(replicas.job)
    if not any(replicas.job.count(role) for role in leading):
        yield WaitingReason("NothingToRun", f"the job has no {' or '.join(leading)} replica, which decides its state")
    if replicas.delegates and all(pod.finished for pod in replicas.delegated_pods) and status.start_time is not None:
        launcher = next((entry for entry in replicas.observed.batch_jobs), None)
        if launcher is None:
            yield WaitingReason("WaitingForWorkers", _unready(replicas), status.start_time + NO_PROGRESS)
        elif launcher.metadata.creation_timestamp is not None:
            message = f"Job {launcher.metadata.name} has no running pod: see its events"
            yield WaitingReason(
                "NoLauncherPod", message, max(launcher.metadata.creation_timestamp, status.start_time) + NO_PROGRESS
            )


def _unready(replicas: Replicas) -> str:
    ready = sum(slot.pod is not None and slot.pod.ready for slot in replicas.slots)
    return f"the launcher waits until all workers are ready: {ready} of {len(replicas.slots)} are ready"


def _scheduler(replicas: Replicas) -> str:
    if named := replicas.observed.planning.gang_scheduler:
        return f"is {named} running?"
    return "is one running (kube-scheduler, or the controllers of `traincrew up`)?"


def _first_of(pods: Sequence[objects.Pod], check: Callable[[objects.Pod], WaitingReason | None]) -> Iterator[WaitingReason]:
    reasons = [reason for reason in map(check, pods) if reason is not None]
    if reasons:
        same = sum(other.reason == reasons[0].reason for other in reasons)
        tail = f"{SAME_REASON}{same} of {len(pods)} pods)" if same > 1 else ""
        yield dataclasses.replace(reasons[0], message=reasons[0].message + tail)


def _rejected_request(request: RejectedWrite, all_requests: Sequence[RejectedWrite]) -> WaitingReason:
    kind = request.resource.kind
    if request.foreign:
        return WaitingReason("NameTaken", f"{kind} {request.name} exists and does not belong to this job: delete or rename it")
    reason = QUOTA_EXCEEDED if request.quota_exceeded else f"FailedCreate{kind}"
    others = _other_unknown_fields(request, all_requests)
    return WaitingReason(reason, f"{kind} {request.name} cannot be created: {request.message}{others}")


def _other_unknown_fields(request: RejectedWrite, all_requests: Sequence[RejectedWrite]) -> str:
    """Those of the pods of other roles, so that all can be corrected at once."""
    fields = {each.message.partition(errors.STRICT_DECODING)[2]: each for each in reversed(all_requests)}
    own = request.message.partition(errors.STRICT_DECODING)[2]
    others = [f"; {each.resource.kind} {each.name}: {text}" for text, each in reversed(fields.items()) if text not in ("", own)]
    return "".join(others) if own else ""


def _container_waiting(pod: objects.Pod) -> WaitingReason | None:
    if pod.status.containers_ended:
        return None  # sidecars that are stopped now may exit with any code
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


def _stuck_terminating(pod: objects.Pod) -> str:
    node = f" on node {pod.spec.node_name}" if pod.spec.node_name else ""
    return (
        f"pod {pod.name}{node} is still terminating, its grace period ended at {pod.metadata.deletion_timestamp:%H:%M:%S} UTC: "
        f"if the node is gone, delete the pod with --grace-period=0 --force, else check its finalizers"
    )


def _slow_start(pod: objects.Pod) -> str:
    waiting = next((status.name for status in pod.status.init_container_statuses if status.state.running), None)
    if waiting is not None:
        return f"init container {waiting} of pod {pod.name} is still running: see its log"
    return f"pod {pod.name} is still being created on node {pod.spec.node_name}"


def slow_start_at(pod: objects.Pod) -> Time | None:
    """When a scheduled pod that has not started counts as slow."""
    scheduled = pod.status.condition("PodScheduled")
    scheduled_to_node = bool(pod.spec.node_name) or (scheduled is not None and scheduled.status == "True")
    if pod.status.phase != "Pending" or pod.terminating or not scheduled_to_node or pod.metadata.creation_timestamp is None:
        return None
    return pod.metadata.creation_timestamp + SLOW_START


def unscheduled_at(pod: objects.Pod) -> Time | None:
    if pod.status.phase != "Pending" or pod.terminating or pod.spec.node_name or pod.metadata.creation_timestamp is None:
        return None
    return None if pod.status.condition("PodScheduled") is not None else pod.metadata.creation_timestamp + NO_PROGRESS


def event_queries(replicas: Replicas, now: Time) -> list[ListEvents]:
    """Queries for the events of scheduled pods that do not start."""
    return [ListEvents(pod.name, pod.metadata.uid) for pod in _unqueried(replicas) if now >= (slow_start_at(pod) or now)]


def _unqueried(replicas: Replicas) -> list[objects.Pod]:
    slow = [pod for pod in (*replicas.own_pods, *replicas.delegated_pods) if slow_start_at(pod) is not None]
    queried = sum(pod.metadata.uid in replicas.observed.pod_events for pod in slow)
    return [pod for pod in slow if pod.metadata.uid not in replicas.observed.pod_events][: max(QUERIED_PODS - queried, 0)]
