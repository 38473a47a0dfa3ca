"""How facts change: by the mark of a step that is begun, and by what came of it."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.embedded.kubelet.lifecycle import backoff, probes, steps
from traincrew.embedded.kubelet.lifecycle.facts import (
    DONE,
    RUNNING,
    ContainerFacts,
    Ended,
    Environment,
    Exit,
    Facts,
    HookName,
    Making,
    Mounting,
    ProbeFacts,
    Refused,
    Running,
    Starting,
    Stopping,
    Unmade,
    Waiting,
)
from traincrew.embedded.kubelet.lifecycle.pod import Object


def begin(facts: Facts, step: steps.Step, now: dt.datetime) -> Facts:
    """The mark of a step that is about to be carried out; Resolve, ReadLogTail and Forget bear none."""
    match step:
        case steps.MountVolumes():
            tries = facts.volumes.times if isinstance(facts.volumes, Waiting) else 0
            return dataclasses.replace(facts, volumes=Mounting(now, tries))
        case steps.MakeSandbox():
            failed = facts.sandbox.times if isinstance(facts.sandbox, Unmade) else 0
            return dataclasses.replace(facts, sandbox=Making(now, failed))
        case steps.EndSandbox():
            return dataclasses.replace(facts, ending=now)
        case steps.Resolve() | steps.ReadLogTail() | steps.Forget():
            return facts
        case _:
            return _of(facts, step.container, _begun(facts.of(step.container), step, now))


def _begun(
    known: ContainerFacts, step: steps.Start | steps.RunHook | steps.Stop | steps.Kill | steps.Probe, now: dt.datetime
) -> ContainerFacts:
    match step:
        case steps.Start():
            return _starting(known, step, now)
        case steps.RunHook(which="postStart"):
            return dataclasses.replace(known, post_start=RUNNING)
        case steps.RunHook():
            return dataclasses.replace(known, pre_stop=RUNNING, stopping=Stopping(now, step.grace_seconds, step.reason))
        case steps.Stop():
            stopping = known.stopping or Stopping(now, step.grace_seconds, step.reason)
            return dataclasses.replace(known, stopping=dataclasses.replace(stopping, signalled=now))
        case steps.Kill():
            stopping = known.stopping or Stopping(now, 0, "")
            return dataclasses.replace(known, stopping=dataclasses.replace(stopping, killed=now))
        case steps.Probe():
            probe = dataclasses.replace(known.probes.get(step.kind, ProbeFacts()), last_at=now, under_way=now)
            return dataclasses.replace(known, probes={**known.probes, step.kind: probe})


def _starting(known: ContainerFacts, step: steps.Start, now: dt.datetime) -> ContainerFacts:
    last, history = known.last, known.history
    if isinstance(last, Ended | Refused) and backoff.used_up(last):
        history = (last, *history[:1])
    after = last if isinstance(last, Refused) else None
    return ContainerFacts(Starting(step.attempt, now, after), history, known.environment, backoff=step.backoff)


def started(facts: Facts, name: str, at: dt.datetime) -> Facts:
    known = facts.of(name)
    attempt = known.last.attempt if known.last is not None else 0
    return _of(facts, name, dataclasses.replace(known, last=Running(attempt, at)))


def refused(facts: Facts, name: str, reason: str, message: str, at: dt.datetime) -> Facts:
    """A Start that came to nothing."""
    known = facts.of(name)
    before = known.last.after if isinstance(known.last, Starting) else None
    attempt = known.last.attempt if known.last is not None else 0
    times = before.times + 1 if before is not None and not backoff.used_up(before) else 1
    return _of(facts, name, dataclasses.replace(known, last=Refused(attempt, reason, message, at, times)))


def ended(facts: Facts, name: str, exit: Exit | None) -> Facts:
    known = facts.of(name)
    attempt = known.last.attempt if known.last is not None else 0
    stopped = known.stopping.reason if known.stopping is not None else ""
    failed = known.post_start if known.post_start not in (None, RUNNING, DONE) else ""
    return _of(facts, name, dataclasses.replace(known, last=Ended(attempt, exit, stopped, post_start=failed or "")))


def log_tail(facts: Facts, name: str, text: str) -> Facts:
    known = facts.of(name)
    if not isinstance(known.last, Ended):
        return facts
    return _of(facts, name, dataclasses.replace(known, last=dataclasses.replace(known.last, log_tail=text)))


def resolved(facts: Facts, name: str, environment: Environment) -> Facts:
    return _of(facts, name, dataclasses.replace(facts.of(name), environment=environment))


def not_resolved(facts: Facts, name: str, reason: str, message: str, at: dt.datetime) -> Facts:
    """reason: ErrImagePull, ErrImageNeverPull or InvalidImageName."""
    before = facts.of(name).environment
    times = before.times + 1 if isinstance(before, Refused) else 1
    return _of(facts, name, dataclasses.replace(facts.of(name), environment=Refused(0, reason, message, at, times)))


def hooked(facts: Facts, name: str, which: HookName, error: str = "") -> Facts:
    """A hook has ended."""
    known = facts.of(name)
    said = error or DONE
    if which == "postStart":
        return _of(facts, name, dataclasses.replace(known, post_start=said))
    return _of(facts, name, dataclasses.replace(known, pre_stop=said))


def probed(facts: Facts, step: steps.Probe, probe: Object, passed: bool | None, message: str = "") -> Facts:
    """The result of a probe; one that belongs to an attempt that is over counts for nothing."""
    known = facts.of(step.container)
    if not isinstance(known.last, Running) or known.last.attempt != step.attempt:
        return facts
    result = probes.fold(probe, known.probes.get(step.kind, ProbeFacts()), passed, message)
    return _of(facts, step.container, dataclasses.replace(known, probes={**known.probes, step.kind: result}))


def not_mounted(facts: Facts, reason: str, message: str, at: dt.datetime) -> Facts:
    tries = facts.volumes.tries if isinstance(facts.volumes, Mounting) else 0
    return dataclasses.replace(facts, volumes=Waiting(reason, message, at, tries + 1))


def not_made(facts: Facts, message: str, at: dt.datetime) -> Facts:
    tries = facts.sandbox.tries if isinstance(facts.sandbox, Making) else 0
    return dataclasses.replace(facts, sandbox=Unmade(message, at, tries + 1))


def _of(facts: Facts, name: str, known: ContainerFacts) -> Facts:
    return dataclasses.replace(facts, containers={**facts.containers, name: known})


__all__ = [
    "begin", "ended", "hooked", "log_tail", "not_made", "not_mounted", "not_resolved", "probed", "refused", "resolved", "started",
]  # fmt: skip
