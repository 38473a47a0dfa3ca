"""What one attempt of a container amounts to: what the restart policy, the order of starting and the status all ask."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import backoff, probes
from traincrew.embedded.kubelet.lifecycle.facts import (
    DONE,
    LOST,
    REBOOTED,
    RUNNING,
    Container,
    ContainerFacts,
    Ended,
    Exit,
    Facts,
    Gone,
    Ready,
    Refused,
    Running,
    Starting,
)
from traincrew.embedded.kubelet.lifecycle.pod import Part, Role, Subject


def truthful(subject: Subject, facts: Facts) -> Facts:
    """Nothing runs without a sandbox: what still says so has been lost, also where only the API remembers it.

    An end whose record is missing is taken from the API if it was told there.
    """
    if facts.rebooted and not (isinstance(facts.sandbox, Gone) and facts.sandbox.reason == REBOOTED):
        facts = dataclasses.replace(facts, sandbox=Gone(REBOOTED))
    found = {part.name: _told(subject, part, facts.of(part.name)) for part in subject.parts}
    if isinstance(facts.sandbox, Gone):
        found = {part.name: _bereft(subject, part, found[part.name]) for part in subject.parts}
    missing = [name for name, known in found.items() if isinstance(known.last, Ended) and known.last.exit is None]
    for name in missing:
        found[name] = _remembered(subject, name, found[name])
    if not missing and not isinstance(facts.sandbox, Gone):
        return facts
    return dataclasses.replace(facts, containers={**facts.containers, **found})


def _told(subject: Subject, part: Part, known: ContainerFacts) -> ContainerFacts:
    """An end that the API knows and of which nothing is left here: finalizers may keep a pod after it was cleared away."""
    api = subject.known.get(part.name) or {}
    attempt, ended = int(api.get("restartCount") or 0), (api.get("state") or {}).get("terminated") or {}
    if known.last is not None or ended.get("containerID") != subject.container_id(part.name, attempt):
        return known
    return dataclasses.replace(known, last=Ended(attempt, None))


def _remembered(subject: Subject, name: str, known: ContainerFacts) -> ContainerFacts:
    api, last = subject.known.get(name) or {}, known.last
    assert isinstance(last, Ended)
    for state in (api.get("state"), api.get("lastState")):
        told = (state or {}).get("terminated") or {}
        if told.get("containerID") != subject.container_id(name, last.attempt):
            continue
        began, ended = times.parse_optional(told.get("startedAt")), times.parse_optional(told.get("finishedAt"))
        if told.get("reason") == "StartError" and ended is not None:
            return dataclasses.replace(known, last=Refused(last.attempt, "StartError", told.get("message") or "", ended))
        message, oom = told.get("message") or "", told.get("reason") == "OOMKilled"
        end = Exit(int(told["exitCode"]), oom=oom, started=began, finished=ended, message=message)
        return dataclasses.replace(known, last=dataclasses.replace(last, exit=end, log_tail=""))
    return known


def _bereft(subject: Subject, part: Part, known: ContainerFacts) -> ContainerFacts:
    if isinstance(known.last, Starting | Running):
        stopped = known.stopping.reason if known.stopping is not None else ""
        return dataclasses.replace(known, last=Ended(known.last.attempt, None, stopped))
    api = subject.known.get(part.name) or {}
    if known.last is None and (api.get("state") or {}).get("running"):
        return dataclasses.replace(known, last=Ended(int(api.get("restartCount") or 0), None))
    return known


def lost(subject: Subject, facts: Facts) -> bool:
    """Whether something went with the sandbox that cannot be had again.

    What ran is such. So is an initialization that was told to be complete: the API lets it begin again only where everything is
    restarted always.
    """
    lasts = [(part.role, facts.of(part.name).last) for part in subject.parts]
    if any(isinstance(last, Ended) and last.exit is None for _, last in lasts):
        return True
    return subject.restart_policy != "Always" and any(role is Role.INIT and initialized(last) for role, last in lasts)


def gone_unasked(facts: Facts) -> bool:
    return isinstance(facts.sandbox, Gone) and facts.sandbox.reason in (LOST, REBOOTED)


def alive(known: ContainerFacts) -> bool:
    return isinstance(known.last, Starting | Running)


def tail_awaited(part: Part, last: Container | None) -> bool:
    """Whether the end of its log is still to be read before its end can be told."""
    if not isinstance(last, Ended) or last.exit is None or not part.falls_back_to_logs:
        return False
    return last.exit.code != 0 and not last.exit.message and last.log_tail is None


def succeeded(last: Container | None) -> bool:
    return isinstance(last, Ended) and last.exit is not None and last.exit.code == 0


def initialized(last: Container | None) -> bool:
    """Of an init container. One whose processes were killed for memory has failed even if it says 0."""
    return succeeded(last) and not (isinstance(last, Ended) and last.exit is not None and last.exit.oom)


def to_restart(subject: Subject, part: Part, last: Container | None) -> bool:
    """Whether the policy wants another attempt after this one."""
    if not backoff.used_up(last):
        return True
    if part.role is Role.SIDECAR:
        return True
    if part.role is Role.EPHEMERAL or subject.restart_policy == "Never":
        return False
    if part.role is Role.INIT:
        return not initialized(last)
    return subject.restart_policy == "Always" or not succeeded(last)


def within(facts: Facts, last: Container | None) -> bool:
    """Whether it belongs to the sandbox that there is now."""
    if not isinstance(facts.sandbox, Ready):
        return last is not None
    ended = end_of(last)
    return last is not None and (ended is None or ended >= facts.sandbox.since)


def end_of(last: Container | None) -> dt.datetime | None:
    match last:
        case Ended(exit=known) if known is not None:
            return known.finished
        case Refused(at=at):
            return at
        case _:
            return None


def next_number(known: ContainerFacts) -> int:
    if known.last is not None:
        return known.last.attempt + 1 if backoff.used_up(known.last) else known.last.attempt
    return known.history[0].attempt + 1 if known.history else 0


def hook_pending(part: Part, known: ContainerFacts) -> bool:
    """Whether a container that runs still has its postStart before it."""
    return isinstance(known.last, Running) and part.hook("postStart") is not None and known.post_start in (None, RUNNING)


def hook_failed(said: str | None) -> bool:
    return said not in (None, RUNNING, DONE)


def of_api(subject: Subject, part: Part, known: ContainerFacts, field: str) -> bool:
    """What the API says of this very attempt: `started` or `ready`."""
    api = subject.known.get(part.name)
    if api is None or known.last is None or api.get("containerID") != subject.container_id(part.name, known.last.attempt):
        return False
    return bool(api.get(field))


def has_begun(subject: Subject, part: Part, known: ContainerFacts) -> bool:
    """Whether it counts as started: it runs, its postStart is done and its startup probe has passed."""
    return not hook_pending(part, known) and probes.began(part, known, of_api(subject, part, known, "started"))


def start_time(subject: Subject, facts: Facts, now: dt.datetime) -> dt.datetime:
    return times.parse_optional(subject.status.get("startTime")) or facts.seen or now
