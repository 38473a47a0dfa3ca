"""The state of one container as its status tells it: waiting, running or terminated, and the state before."""

from __future__ import annotations

from typing import Any, NamedTuple

from traincrew.apimachinery import durations, times
from traincrew.embedded.kubelet.lifecycle import attempts, backoff, image_pulls
from traincrew.embedded.kubelet.lifecycle.agenda import Case
from traincrew.embedded.kubelet.lifecycle.facts import Container, ContainerFacts, Ended, Refused, Running, Starting
from traincrew.embedded.kubelet.lifecycle.pod import Part, Role

UNKNOWN = "ContainerStatusUnknown"
UNKNOWN_MESSAGE = "The container could not be located when the pod was terminated"
_NO_RECORD = "The container's record of how it ended is lost"

State = dict[str, Any]


class Shown(NamedTuple):
    state: State
    last: State
    attempt: int | None
    """The attempt that containerID names; None: there was none."""


def shown(case: Case, part: Part) -> Shown:
    known = case.of(part)
    last = known.last
    if isinstance(last, Starting) or attempts.hook_pending(part, known):
        return _underway(case, part, known)
    if isinstance(last, Running):
        return Shown(running(last), _before(case, part, known), last.attempt)
    if isinstance(last, Ended) and attempts.tail_awaited(part, last) and last.exit is not None and last.exit.started:
        return Shown(running(Running(last.attempt, last.exit.started)), _before(case, part, known), last.attempt)
    if backoff.used_up(last):
        return _after_end(case, part, known)
    return _never_made(case, part, known)


def _after_end(case: Case, part: Part, known: ContainerFacts) -> Shown:
    last = known.last
    assert last is not None
    ended = terminated(case, part, last)
    waiting = _why_waiting(case, part, known)
    if waiting is None:
        return Shown(ended, _before(case, part, known), last.attempt)
    return Shown(waiting, ended, last.attempt)


def _why_waiting(case: Case, part: Part, known: ContainerFacts) -> State | None:
    """None: the end itself says more, because nothing follows it or what follows is at once."""
    if case.outlook.ending or not attempts.to_restart(case.subject, part, known.last):
        return None
    if isinstance(known.environment, Refused):
        return _waiting(*image_pulls.told(known.environment, part.image, case.now))
    wait = backoff.after_end(known)
    if wait.until is not None and wait.until > case.now:
        words = f"back-off {durations.render(wait.delay)} restarting failed container={part.name} pod={case.subject.words}"
        return _waiting("CrashLoopBackOff", words)
    if isinstance(known.last, Refused):
        return _waiting("RunContainerError", known.last.message)
    if isinstance(known.last, Ended) and known.last.post_start:
        return _waiting("PostStartHookError", known.last.post_start)
    # The API lets no init container that ended with 0 begin again; one that was killed for memory has to.
    return _initial(case) if part.role is Role.INIT and attempts.succeeded(known.last) else None


def _never_made(case: Case, part: Part, known: ContainerFacts) -> Shown:
    before = known.history[0] if known.history else None
    attempt = before.attempt if before is not None else None
    last = _before(case, part, known)
    if isinstance(known.last, Refused):
        return Shown(_waiting(known.last.reason, known.last.message), last, attempt)
    if isinstance(known.environment, Refused):
        return Shown(_waiting(*image_pulls.told(known.environment, part.image, case.now)), last, attempt)
    return Shown(_initial(case), last, attempt)


def _underway(case: Case, part: Part, known: ContainerFacts) -> Shown:
    """While it is being started, what was told before still holds."""
    before = known.history[0] if known.history else None
    attempt = before.attempt if before is not None else None
    api = case.subject.known.get(part.name) or {}
    state = dict(api.get("state") or {})
    if state and "running" not in state:
        return Shown(state, dict(api.get("lastState") or {}), attempt)
    if before is not None:
        return Shown(terminated(case, part, before), {}, attempt)
    return Shown(_initial(case), {}, attempt)


def _initial(case: Case) -> State:
    return _waiting("PodInitializing" if case.subject.inits else "ContainerCreating")


def _before(case: Case, part: Part, known: ContainerFacts) -> State:
    if known.history:
        return terminated(case, part, known.history[0])
    told = dict((case.subject.known.get(part.name) or {}).get("lastState") or {})
    own = case.subject.container_id(part.name, known.last.attempt) if known.last is not None else None
    return {} if own is not None and (told.get("terminated") or {}).get("containerID") == own else told


def _waiting(reason: str, message: str = "") -> State:
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def running(last: Running) -> State:
    return {"running": {"startedAt": times.rfc3339(last.started)}}


def unlocated(message: str = UNKNOWN_MESSAGE) -> State:
    return {"terminated": {"exitCode": 137, "reason": UNKNOWN, "message": message, "startedAt": None, "finishedAt": None}}


def terminated(case: Case, part: Part, last: Container) -> State:
    identity = {"containerID": case.subject.container_id(part.name, last.attempt)}
    if isinstance(last, Refused):
        told = {"exitCode": 128, "reason": "StartError", "message": last.message}
        return {"terminated": {**told, "startedAt": times.EPOCH, "finishedAt": times.rfc3339(last.at), **identity}}
    if not isinstance(last, Ended) or last.exit is None:
        return unlocated(_NO_RECORD if not attempts.gone_unasked(case.facts) else UNKNOWN_MESSAGE)
    end = last.exit
    reason = "OOMKilled" if end.oom else "Completed" if end.code == 0 else "Error"
    found: State = {"exitCode": end.code, "reason": reason}
    if message := end.message or _fallen_back(part, last):
        found["message"] = message
    found["startedAt"] = times.rfc3339(end.started) if end.started else None
    found["finishedAt"] = times.rfc3339(end.finished) if end.finished else None
    return {"terminated": {**found, **identity}}


def _fallen_back(part: Part, last: Ended) -> str:
    failed = last.exit is not None and last.exit.code != 0
    return (last.log_tail or "") if failed and part.falls_back_to_logs else ""
