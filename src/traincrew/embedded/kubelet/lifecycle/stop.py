"""How containers are brought to their end: preStop, TERM, KILL, sidecars last and in reverse order."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import attempts, due_probes
from traincrew.embedded.kubelet.lifecycle.agenda import Agenda, Case
from traincrew.embedded.kubelet.lifecycle.facts import RUNNING, ContainerFacts, Making, Ready, Running, Stopping
from traincrew.embedded.kubelet.lifecycle.pod import Part, Role
from traincrew.embedded.kubelet.lifecycle.steps import EndSandbox, Forget, Kill, ReadLogTail, RunHook, Stop
from traincrew.embedded.kubelet.lifecycle.termination import WHOLE_POD

SHORTEST = 2.0
"""What a container has between TERM and KILL in any case."""
_KILL_AGAIN = 10.0


class Why(NamedTuple):
    reason: str
    grace: float


def end_all(case: Case, agenda: Agenda) -> None:
    why = Why(case.outlook.ending, case.outlook.grace)
    agenda.look(case.outlook.deadline)
    for part in case.subject.parts:
        known = case.of(part)
        if isinstance(known.last, Running):
            end(case, agenda, part, why)
            due_probes.probe(case, agenda, part, quiet=True)
        elif attempts.tail_awaited(part, known.last):
            agenda.do(ReadLogTail(part.name, known.last.attempt if known.last else 0))
    if over(case):
        _clear_away(case, agenda)


def over(case: Case) -> bool:
    """Whether nothing runs and every end can be told."""
    known = ((part, case.of(part)) for part in case.subject.parts)
    return not any(attempts.alive(facts) or attempts.tail_awaited(part, facts.last) for part, facts in known)


def _clear_away(case: Case, agenda: Agenda) -> None:
    subject, facts = case.subject, case.facts
    if isinstance(facts.sandbox, Ready):
        if facts.ending is None:
            agenda.do(EndSandbox())
        return
    being_made = isinstance(facts.sandbox, Making)
    held = bool(subject.meta.get("finalizers")) and subject.meta.get("deletionGracePeriodSeconds") == 0
    if not being_made and (facts.removed or (subject.deletion is not None and not held)):
        agenda.do(Forget())


def end(case: Case, agenda: Agenda, part: Part, why: Why) -> None:
    """The next step towards the end of a container that runs."""
    known = case.of(part)
    attempt = known.last.attempt if known.last else 0
    deadline = _deadline(case, known, why)
    if known.stopping is not None and known.stopping.signalled is not None:
        agenda.when(_moment_of_kill(known.stopping, deadline), Kill(part.name, attempt))
        return
    hook = part.hook("preStop")
    left = (deadline - case.now).total_seconds()
    if hook is not None and known.pre_stop is None and left > 0:
        agenda.do(RunHook(part.name, attempt, "preStop", hook, left, why.reason, left))
        agenda.look(deadline)
    elif left > 0 and (known.pre_stop == RUNNING or _has_to_wait(case, part, why)):
        agenda.look(deadline)
    else:
        agenda.do(Stop(part.name, attempt, max(left, SHORTEST), why.reason))


def _moment_of_kill(stopping: Stopping, deadline: dt.datetime) -> dt.datetime:
    if stopping.killed is not None:
        return times.later(stopping.killed, _KILL_AGAIN)
    return max(deadline, times.later(stopping.signalled or stopping.since, SHORTEST))


def _deadline(case: Case, known: ContainerFacts, why: Why) -> dt.datetime:
    """When its grace is over. Being asked again can only shorten it."""
    asked = _asked(case)
    if known.stopping is None:
        begun = _begun(case) if why.reason in WHOLE_POD else None
        if begun is None and case.facts.adopted:
            begun = asked
        return times.later(min(begun or case.now, case.now), why.grace)
    own = times.later(known.stopping.since, known.stopping.grace)
    if why.grace >= known.stopping.grace:
        return own
    return min(own, times.later(max(known.stopping.since, asked or known.stopping.since), why.grace))


def _asked(case: Case) -> dt.datetime | None:
    """When the deletion was asked for."""
    deletion = case.subject.deletion
    return times.later(deletion, -case.subject.grace) if deletion is not None else None


def _begun(case: Case) -> dt.datetime | None:
    """When the pod as a whole began to end: sidecars, which wait, have no more grace than the others."""
    marks = (case.of(part).stopping for part in case.subject.parts)
    return times.earliest(*(mark.since for mark in marks if mark is not None and mark.reason in WHOLE_POD))


def _has_to_wait(case: Case, part: Part, why: Why) -> bool:
    if part.role is not Role.SIDECAR or why.reason not in WHOLE_POD:
        return False
    sidecars = case.subject.sidecars
    later = sidecars[sidecars.index(part) + 1 :]
    return any(attempts.alive(case.of(other)) for other in (*case.subject.mains, *later))
