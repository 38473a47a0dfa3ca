"""The fields `state` and `lastState` of a container status: waiting, running or terminated."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from traincrew.apimachinery import durations, times
from traincrew.embedded.kubelet.lifecycle import attempts, backoff, image_pulls
from traincrew.embedded.kubelet.lifecycle.observed import Exited, ObservedContainer, Running, RuntimeState, StartFailure, Starting
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, ContainerType
from traincrew.embedded.kubelet.lifecycle.sync_context import SyncContext

UNKNOWN = "ContainerStatusUnknown"
UNKNOWN_MESSAGE = "The container could not be located when the pod was terminated"
_NO_RECORD = "The exit record of the container is lost"

State = dict[str, Any]


class ContainerStates(NamedTuple):
    state: State
    last_state: State
    attempt: int | None
    """The attempt in containerID. None: no containerID."""


def of_container(context: SyncContext, container: ContainerSpec) -> ContainerStates:
    current = context.current(container)
    if isinstance(current.state, Starting) or attempts.post_start_pending(container, current):
        return _while_starting(context, container, current)
    if (started := _running_since(container, current.state)) is not None:
        state = {"running": {"startedAt": times.rfc3339(started)}}
        return ContainerStates(state, _last_state(context, container, current), current.state.attempt if current.state else None)
    if backoff.consumes_attempt(current.state):
        return _after_exit(context, container, current)
    return _never_created(context, container, current)


def _running_since(container: ContainerSpec, state: RuntimeState | None) -> dt.datetime | None:
    """A container is reported as running until its log tail is read."""
    if isinstance(state, Running):
        return state.started
    if isinstance(state, Exited) and state.status is not None and attempts.awaits_log_tail(container, state):
        return state.status.started
    return None


def _after_exit(context: SyncContext, container: ContainerSpec, current: ObservedContainer) -> ContainerStates:
    assert current.state is not None
    exited = terminated(context, container, current.state)
    waiting = _waiting_state(context, container, current)
    if waiting is None:
        return ContainerStates(exited, _last_state(context, container, current), current.state.attempt)
    return ContainerStates(waiting, exited, current.state.attempt)


def _waiting_state(context: SyncContext, container: ContainerSpec, current: ObservedContainer) -> State | None:
    """None: the terminated state is reported, because no restart follows or it follows at once."""
    if context.termination.cause or not attempts.should_restart(context.pod, container, current.state):
        return None
    if isinstance(current.image, StartFailure):
        return _waiting(*image_pulls.waiting_reason(current.image, container.image, context.now))
    delay = backoff.after_exit(current)
    if delay.until is not None and delay.until > context.now:
        restarting = f"restarting failed container={container.name} pod={context.pod.formatted_name}"
        return _waiting("CrashLoopBackOff", f"back-off {durations.render(delay.delay)} {restarting}")
    if isinstance(current.state, StartFailure):
        return _waiting("RunContainerError", current.state.message)
    if isinstance(current.state, Exited) and current.state.post_start_error:
        return _waiting("PostStartHookError", current.state.post_start_error)
    # The API server forbids that an init container with exit code 0 starts again. One with an OOM kill has to.
    return _initial(context) if container.type is ContainerType.INIT and attempts.succeeded(current.state) else None


def _never_created(context: SyncContext, container: ContainerSpec, current: ObservedContainer) -> ContainerStates:
    previous = current.history[0] if current.history else None
    attempt = previous.attempt if previous is not None else None
    last_state = _last_state(context, container, current)
    if isinstance(current.state, StartFailure):
        return ContainerStates(_waiting(current.state.reason, current.state.message), last_state, attempt)
    if isinstance(current.image, StartFailure):
        waiting = _waiting(*image_pulls.waiting_reason(current.image, container.image, context.now))
        return ContainerStates(waiting, last_state, attempt)
    return ContainerStates(_initial(context), last_state, attempt)


def _while_starting(context: SyncContext, container: ContainerSpec, current: ObservedContainer) -> ContainerStates:
    """The previously reported state is kept."""
    previous = current.history[0] if current.history else None
    attempt = previous.attempt if previous is not None else None
    api = context.pod.reported_statuses.get(container.name) or {}
    state = dict(api.get("state") or {})
    if state and "running" not in state:
        return ContainerStates(state, dict(api.get("lastState") or {}), attempt)
    if previous is not None:
        return ContainerStates(terminated(context, container, previous), {}, attempt)
    return ContainerStates(_initial(context), {}, attempt)


def _initial(context: SyncContext) -> State:
    return _waiting("PodInitializing" if context.pod.init_containers else "ContainerCreating")


def _last_state(context: SyncContext, container: ContainerSpec, current: ObservedContainer) -> State:
    if current.history:
        return terminated(context, container, current.history[0])
    reported = dict((context.pod.reported_statuses.get(container.name) or {}).get("lastState") or {})
    own = context.pod.container_id(container.name, current.state.attempt) if current.state is not None else None
    return {} if own is not None and (reported.get("terminated") or {}).get("containerID") == own else reported


def _waiting(reason: str, message: str = "") -> State:
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def unknown_exit(message: str = UNKNOWN_MESSAGE) -> State:
    return {"terminated": {"exitCode": 137, "reason": UNKNOWN, "message": message, "startedAt": None, "finishedAt": None}}


def terminated(context: SyncContext, container: ContainerSpec, state: RuntimeState) -> State:
    container_id = {"containerID": context.pod.container_id(container.name, state.attempt)}
    if isinstance(state, StartFailure):
        failure = {"exitCode": 128, "reason": "StartError", "message": state.message}
        return {"terminated": {**failure, "startedAt": times.EPOCH, "finishedAt": times.rfc3339(state.at), **container_id}}
    if not isinstance(state, Exited) or state.status is None:
        return unknown_exit(_NO_RECORD if not attempts.sandbox_lost(context.observed) else UNKNOWN_MESSAGE)
    status = state.status
    reason = "OOMKilled" if status.oom_killed else "Completed" if status.code == 0 else "Error"
    body: State = {"exitCode": status.code, "reason": reason}
    if status.signal:
        body["signal"] = status.signal
    if message := status.message or _message_from_log(container, state):
        body["message"] = message
    body["startedAt"] = times.rfc3339(status.started) if status.started else None
    body["finishedAt"] = times.rfc3339(status.finished) if status.finished else None
    return {"terminated": {**body, **container_id}}


def _message_from_log(container: ContainerSpec, exited: Exited) -> str:
    failed = exited.status is not None and exited.status.code != 0
    return (exited.log_tail or "") if failed and container.falls_back_to_logs else ""
