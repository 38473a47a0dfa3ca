"""How a pod comes to life and is kept there: volumes, sandbox, init containers one after another, then the others together."""

from __future__ import annotations

from traincrew.embedded.kubelet.lifecycle import attempts, backoff, due_probes, image_pulls, stop
from traincrew.embedded.kubelet.lifecycle.agenda import Agenda, Case
from traincrew.embedded.kubelet.lifecycle.facts import Gone, Mounted, Ready, Refused, Running, Starting, Unmade, Waiting
from traincrew.embedded.kubelet.lifecycle.pod import Part, Role
from traincrew.embedded.kubelet.lifecycle.probes import result
from traincrew.embedded.kubelet.lifecycle.steps import MakeSandbox, MountVolumes, ReadLogTail, Resolve, RunHook, Start
from traincrew.embedded.kubelet.lifecycle.stop import Why


def live(case: Case, agenda: Agenda) -> None:
    agenda.look(case.outlook.deadline)
    for part in case.subject.parts:
        _look_at_waiting(case, agenda, part)
    if not isinstance(case.facts.sandbox, Ready):
        _furnish(case, agenda)
        return
    for part in case.subject.parts:
        _keep(case, agenda, part)
    for part in case.subject.ephemerals:
        if not attempts.alive(case.of(part)) and not backoff.used_up(case.of(part).last):
            _start(case, agenda, part)
    if _initialize(case, agenda):
        _start_mains(case, agenda)


def _look_at_waiting(case: Case, agenda: Agenda, part: Part) -> None:
    """What is told of a container that waits changes with time, whether or not it is its turn."""
    known = case.of(part)
    if isinstance(known.environment, Refused):
        agenda.look(image_pulls.turns(known.environment))
    if backoff.used_up(known.last) and attempts.to_restart(case.subject, part, known.last):
        agenda.look(backoff.after_end(known).until)


def _furnish(case: Case, agenda: Agenda) -> None:
    facts = case.facts
    match facts.volumes:
        case None:
            agenda.do(MountVolumes())
        case Waiting(at=at, times=times):
            agenda.when(backoff.retry(at, times), MountVolumes())
        case Mounted():
            match facts.sandbox:
                case None | Gone():
                    agenda.do(MakeSandbox())
                case Unmade(at=at, times=times):
                    agenda.when(backoff.retry(at, times), MakeSandbox())


def _keep(case: Case, agenda: Agenda, part: Part) -> None:
    """What a container that runs, or has just ended, needs."""
    known = case.of(part)
    if attempts.tail_awaited(part, known.last):
        agenda.do(ReadLogTail(part.name, known.last.attempt if known.last else 0))
    if not isinstance(known.last, Running):
        return
    hook = part.hook("postStart")
    why = _fault(case, part)
    if why is not None:
        stop.end(case, agenda, part, why)
        due_probes.probe(case, agenda, part, quiet=True)
    elif hook is not None and known.post_start is None:
        agenda.do(RunHook(part.name, known.last.attempt, "postStart", hook))
    else:
        due_probes.probe(case, agenda, part)


def _fault(case: Case, part: Part) -> Why | None:
    """Why a single container has to end while its pod lives."""
    known = case.of(part)
    if known.stopping is not None:
        return Why(known.stopping.reason, known.stopping.grace)
    if attempts.hook_failed(known.post_start):
        return Why("postStart", case.subject.grace)
    for kind in ("liveness", "startup"):
        probe = part.probe(kind)
        if probe is not None and result(known, "liveness" if kind == "liveness" else "startup") is False:
            own = probe.get("terminationGracePeriodSeconds")
            return Why(kind, float(own) if own is not None else case.subject.grace)
    return None


def _initialize(case: Case, agenda: Agenda) -> bool:
    """Whether the main containers may run. Sidecars that were reached once are kept running, whatever follows them."""
    inits = case.subject.inits
    if _initialized_before(case):
        reached = len(inits)
    else:
        begun = [index for index, part in enumerate(inits) if attempts.within(case.facts, case.of(part).last)]
        reached = begun[-1] if begun else 0
        if begun and _complete(case, inits[reached]):
            reached += 1
    for part in inits[:reached]:
        if part.role is Role.SIDECAR and not attempts.alive(case.of(part)):
            _start(case, agenda, part)
    if reached < len(inits) and not attempts.alive(case.of(inits[reached])):
        _start(case, agenda, inits[reached])
    return reached == len(inits)


def _initialized_before(case: Case) -> bool:
    lasts = (case.of(part).last for part in case.subject.mains)
    return any(last is not None and attempts.within(case.facts, last) for last in lasts)


def _complete(case: Case, part: Part) -> bool:
    """Whether what follows this init container may start."""
    known = case.of(part)
    if part.role is Role.INIT:
        return attempts.initialized(known.last)
    return attempts.has_begun(case.subject, part, known) and known.stopping is None


def _start_mains(case: Case, agenda: Agenda) -> None:
    """In order; a postStart hook holds back those that come after its container."""
    for part in case.subject.mains:
        known = case.of(part)
        if isinstance(known.last, Starting | Running):
            awaited = isinstance(known.last, Starting) and part.hook("postStart") is not None
            if awaited or attempts.hook_pending(part, known):
                return
        elif attempts.to_restart(case.subject, part, known.last) and _start(case, agenda, part) and part.hook("postStart"):
            return


def _start(case: Case, agenda: Agenda, part: Part) -> bool:
    """Whether it is being started."""
    known = case.of(part)
    if attempts.tail_awaited(part, known.last):
        return False
    following = backoff.remembered(known) if known.last is not None else 0
    if isinstance(known.last, Refused) and not backoff.used_up(known.last):
        moment = backoff.after_refusal(known.last)
        if moment > case.now:
            agenda.look(moment)
            return False
    elif known.last is not None:
        wait = backoff.after_end(known)
        following = wait.following
        again = part.role is Role.INIT and not attempts.within(case.facts, known.last)
        if wait.until is not None and wait.until > case.now and not again:
            agenda.look(wait.until)
            return False
    return _begin(case, agenda, part, following)


def _begin(case: Case, agenda: Agenda, part: Part, following: int) -> bool:
    known = case.of(part)
    match known.environment:
        case None:
            agenda.do(Resolve(part.name))
        case Refused() as refused:
            agenda.when(backoff.after_refusal(refused), Resolve(part.name))
            return False
        case _:
            agenda.do(Start(part.name, attempts.next_number(known), following))
    return True
