"""Whether a pod is to live on, and if not why: what it will be called in the end."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import attempts, backoff
from traincrew.embedded.kubelet.lifecycle.facts import ENDED, REBOOTED, Ended, Facts, Gone
from traincrew.embedded.kubelet.lifecycle.pod import Role, Subject

DELETION, DEADLINE, EVICTION, FINISHED, REJECTION, LOSS = "deletion", "deadline", "eviction", "finished", "rejection", "loss"
WHOLE_POD = (DELETION, DEADLINE, EVICTION, FINISHED)
"""Reasons of a Stop that concern every container of the pod."""

DEADLINE_REASON = "DeadlineExceeded"
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"
REBOOT_REASON = "NodeLost"
REBOOT_MESSAGE = "The node was rebooted while the pod ran on it"
LOSS_REASON = "SandboxLost"
LOSS_MESSAGE = "The process that held the containers of the pod is gone"
BY_NODE = "TerminationByKubelet"


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """What makes the pod Failed whatever its containers say."""

    kind: str
    reason: str
    message: str
    target: str = ""
    """The reason of its DisruptionTarget condition; empty: it bears none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outlook:
    ending: str = ""
    """Why everything is to end; empty: it lives."""
    failure: Failure | None = None
    grace: float = 0.0
    deadline: dt.datetime | None = None
    """When activeDeadlineSeconds will be over, if that would still make a difference."""


def outlook(subject: Subject, facts: Facts, now: dt.datetime) -> Outlook:
    deadline = _deadline(subject, facts, now)
    done = _done(subject, facts)
    failure = _failure(subject, facts, deadline, now)
    if subject.finished or (failure is not None and done and _by_itself(subject, facts, failure, deadline)):
        failure = None
    ending = _ending(subject, facts, failure, done)
    grace = subject.grace
    if ending == EVICTION and facts.eviction is not None and facts.eviction.grace is not None:
        grace = min(grace, facts.eviction.grace)
    ahead = failure is None and not subject.finished and ending != FINISHED
    return Outlook(ending, failure, max(grace, 1.0), deadline if ahead else None)


def _ending(subject: Subject, facts: Facts, failure: Failure | None, done: bool) -> str:
    if facts.removed or subject.deletion is not None:
        return DELETION
    if failure is not None:
        return failure.kind
    return FINISHED if done or subject.finished else ""


def _failure(subject: Subject, facts: Facts, deadline: dt.datetime | None, now: dt.datetime) -> Failure | None:
    if facts.rejection is not None:
        return Failure(REJECTION, facts.rejection.reason, f"Pod was rejected: {facts.rejection.message}")
    if isinstance(facts.sandbox, Gone) and facts.sandbox.reason == REBOOTED and _anything_ran(subject, facts):
        return Failure(LOSS, REBOOT_REASON, REBOOT_MESSAGE, BY_NODE)
    if attempts.gone_unasked(facts) and attempts.lost(subject, facts):
        return Failure(LOSS, LOSS_REASON, LOSS_MESSAGE, BY_NODE)
    if facts.eviction is not None:
        return Failure(EVICTION, facts.eviction.reason, facts.eviction.message, facts.eviction.target)
    if deadline is not None and now >= deadline:
        return Failure(DEADLINE, DEADLINE_REASON, DEADLINE_MESSAGE)
    return None


def _deadline(subject: Subject, facts: Facts, now: dt.datetime) -> dt.datetime | None:
    seconds = subject.spec.get("activeDeadlineSeconds")
    return times.later(attempts.start_time(subject, facts, now), int(seconds)) if seconds is not None else None


def _anything_ran(subject: Subject, facts: Facts) -> bool:
    return any(backoff.used_up(facts.of(part.name).last) for part in subject.parts)


def _done(subject: Subject, facts: Facts) -> bool:
    """Whether the policy wants no further attempt of anything: the pod has come to its own end.

    A sandbox is ended by the node only when that was decided before, whether or not it was told in time.
    """
    if isinstance(facts.sandbox, Gone) and facts.sandbox.reason == ENDED:
        return True
    if subject.restart_policy == "Never" and _initialization_failed(subject, facts):
        return True
    lasts = [facts.of(part.name).last for part in subject.mains]
    return bool(lasts) and all(
        backoff.used_up(last) and not attempts.to_restart(subject, part, last)
        for part, last in zip(subject.mains, lasts, strict=True)
    )


def _initialization_failed(subject: Subject, facts: Facts) -> bool:
    inits = (facts.of(part.name).last for part in subject.inits if part.role is Role.INIT)
    return any(backoff.used_up(last) and not attempts.initialized(last) for last in inits)


def _by_itself(subject: Subject, facts: Facts, failure: Failure, deadline: dt.datetime | None) -> bool:
    """Whether a pod that has come to its end would have without the failure, which was only noticed later."""
    parts = subject.mains if any(facts.of(part.name).last for part in subject.mains) else subject.inits
    lasts = [last for part in parts if isinstance(last := facts.of(part.name).last, Ended)]
    match failure.kind:
        case "deadline":
            ends = [attempts.end_of(last) for last in lasts]
            return deadline is not None and all(end is not None and end < deadline for end in ends)
        case "eviction":
            return all(last.stopped != EVICTION for last in lasts)
        case "loss":
            return all(last.exit is not None for last in lasts)
        case _:
            return False
