"""Why a job does not run, or has failed, and what to do about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from traincrew.cli.render import advice, events, stages, tables
from traincrew.cli.render.view import View, since
from traincrew.model import objects
from traincrew.model.meta import Time
from traincrew.model.status import Failure
from traincrew.planner import failure_summary

SHOWN_EVENTS = 5


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What was gathered beside the job and its pods."""

    events: tuple[events.Event, ...] = ()
    log: str = ""
    """The last lines of the replica that failed, where its status has none."""
    scarce: tuple[str, ...] = ()
    """Who holds what its pods find no node for."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    job: str
    state: str
    causes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    """Those that do not run, each with what it waits for."""
    said: tuple[str, ...] = ()
    """Warnings of others about the job and its pods."""
    last_lines: str = ""
    look: tuple[str, ...] = ()
    """Where to go on looking."""

    def as_json(self) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in dataclasses.asdict(self).items()}


def explain(view: View, evidence: Evidence, now: Time) -> Explanation:
    causes, remedies = _causes(view, evidence, now)
    failure = view.failure
    finished = view.job.status.finished
    waiting = _waiting(view) if not finished else []
    healthy = view.state in ("Running", "Succeeded") and not waiting and failure is None
    return Explanation(
        job=f"{view.kind.kind} {view.job}",
        state=_state(view, now),
        causes=tuple(causes),
        remedies=tuple(dict.fromkeys(filter(None, remedies))),
        pods=tuple(waiting),
        said=() if view.job.status.is_true("Succeeded") else tuple(_said(evidence.events, now)),
        last_lines=_last_lines(failure, evidence),
        look=() if healthy else tuple(_look(view)),
    )


def _waiting(view: View) -> list[str]:
    """Replicas that wait for the same are told together."""
    return [f"{_several('replicas', names)}: {word}" for word, names in stages.by_stage(view).items()]


def _several(what: str, names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} {what} ({stages.some(names)})"


def _state(view: View, now: Time) -> str:
    moment = since(view.job.status) or view.job.metadata.creation_timestamp
    return f"{view.state} for {tables.age(moment, now)}" if moment else view.state


def _causes(view: View, evidence: Evidence, now: Time) -> tuple[list[str], list[str]]:
    status, causes, remedies = view.job.status, list[str](), list[str]()
    if status.is_true("Succeeded"):
        return ["the job succeeded"], []
    if view.job.suspended:
        causes.append("the job is suspended")
        remedies.append(f"Run `traincrew resume {view.reference}`.")
    elif status.why is not None and status.why != failure_summary.of(status):
        causes.append(f"{status.why.message} ({status.why.reason}, for {tables.age(status.why.since, now)})")
        remedies.append(advice.on_waiting(status.why.reason, status.why.message, view.reference))
    elif word := stages.waits_for(view):
        causes.append(word)
        remedies.append(advice.on_waiting("", word, view.reference))
    causes += evidence.scarce
    if status.is_true("Failed"):
        causes += [each.message for each in status.conditions if each.type == "Failed" and each.message]
        remedies += [advice.on_waiting(each.reason, "", view.reference) for each in status.conditions if each.type == "Failed"]
    for title, failure in (("first failure", status.failure), ("last failure", status.last_failure)):
        if failure is not None:
            causes.append(f"{title}: {_told(failure)}")
            if failure.pod and failure.pod == view.kind.lifecycle.rendezvous(view.job):
                causes.append(
                    f"{failure.pod} hosts the rendezvous: the other replicas exited with it, and all replicas restart together"
                )
            remedies.append(advice.on_failure(failure, _last_lines(failure, evidence), _of_image(failure, evidence)))
    return causes or [_nothing(view)], remedies


def _nothing(view: View) -> str:
    if view.state == "Running":
        return "the job is running; no problem found"
    if view.state == "New":
        return "no operator has processed the job yet. Check that the operator is running."
    return "no problem found"


def _told(failure: Failure) -> str:
    code = f" exited with code {failure.exit_code}" if failure.exit_code is not None else " was lost"
    reason = f" ({failure.reason})" if failure.reason else ""
    node = f" on node {failure.node}" if failure.node else ""
    when = f" at {failure.time:%Y-%m-%d %H:%M:%S} UTC" if failure.time else ""
    return f"{failure.replica} (pod {failure.pod}){code}{reason}{node}{when}"


def _last_lines(failure: Failure | None, evidence: Evidence) -> str:
    if failure is not None and failure.message:
        return failure.message.rstrip("\n")
    return evidence.log.rstrip("\n") if failure is not None else ""


def _of_image(failure: Failure, evidence: Evidence) -> str:
    """The node's words about the image; init containers, which have others, go first."""
    told = [each for each in events.in_order(evidence.events) if each.reason == "Pulled"]
    return next((each.message for each in reversed(told) if each.involved_object.name == failure.pod), "")


def _said(found: Sequence[events.Event], now: Time) -> list[str]:
    """The latest warnings; what was said of several in the same words, once."""
    same: dict[tuple[str, str, str], list[events.Event]] = {}
    for each in events.warnings(found):
        words = (each.involved_object.kind.lower(), each.reason, " ".join(each.message.split()))
        same[words] = [*same.pop(words, []), each]
    return [_warning(*words, each, now) for words, each in list(same.items())[-SHOWN_EVENTS:]]


def _warning(kind: str, reason: str, message: str, said: Sequence[events.Event], now: Time) -> str:
    names = list(dict.fromkeys(each.involved_object.name for each in said))
    about = f"{kind} {names[0]}" if len(names) == 1 else _several(f"{kind}s", names)
    times = sum(each.times for each in said)
    repeated = f" ({times} times)" if times > len(names) else ""
    return f"{tables.age(said[-1].time, now)} ago, {about}: {reason}: {message}{repeated}"


def _look(view: View) -> list[str]:
    found = [f"traincrew describe {view.reference}"]
    if view.failure is not None and view.failure.pod:
        replica = view.failure.pod.removeprefix(f"{view.job.name}-")
        again = [pod for pod in view.pods if pod.name == view.failure.pod and _restarted(pod)]
        found.insert(0, f"traincrew logs {view.reference} --replica {replica}{' --previous' if again else ''}")
    return found


def _restarted(pod: objects.Pod) -> bool:
    return any(each.restart_count for each in pod.status.container_statuses)


def text(found: Explanation) -> str:
    lines = [f"{found.job}: {found.state}", "", *_list("why", found.causes), *_list("what to do", found.remedies)]
    lines += [*_list("pods that are not running", found.pods), *_list("warnings", found.said)]
    if found.last_lines:
        lines += ["last lines", *(f"  | {line}" for line in found.last_lines.splitlines()), ""]
    lines += _list("see also", found.look)
    return "\n".join(lines).rstrip("\n")


def _list(title: str, entries: Sequence[str]) -> list[str]:
    return [title, *(f"  {entry}" for entry in entries), ""] if entries else []
