"""A Job's next status, and the pods that may be let go once it is written."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import completion_indexes, times
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.controllers.jobs import completion, pod_indexes, policies
from traincrew.embedded.controllers.jobs.pod_counts import Census
from traincrew.embedded.controllers.pods import Pod

MOST_NOTED = 500
"""Pods noted in a status at once: it stays small."""


class Draft(NamedTuple):
    status: Object
    release: tuple[Pod, ...]
    events: tuple[tuple[str, str, str], ...]


class _Notes(NamedTuple):
    succeeded: list[str]
    failed: list[str]
    completed: frozenset[int]
    release: tuple[Pod, ...]


def draft(census: Census, verdict: Object | None, now: dt.datetime) -> Draft:
    status, notes = dict(census.status), _notes(census, verdict)
    _count(status, census, notes)
    events = _conditions(status, census, verdict, now)
    if verdict is not None and not (notes.release or status["uncountedTerminatedPods"] or census.terminating):
        events += _end(status, census, verdict, now)
    return Draft({key: value for key, value in status.items() if value is not None}, notes.release, events)


def _count(status: Object, census: Census, notes: _Notes) -> None:
    tracked = {pod.metadata.uid for pod in census.pods if pod.tracked}
    let_go = {each: [uid for uid in census.noted(each) if uid not in tracked] for each in ("succeeded", "failed")}
    succeeded = len(notes.completed) if census.indexed else status.get("succeeded", 0) + len(let_go["succeeded"])
    noted = {
        outcome: [uid for uid in getattr(notes, outcome) if uid not in let_go[outcome]] for outcome in ("succeeded", "failed")
    }
    status |= {
        "active": len(census.active) or None,
        "ready": sum(pod.ready for pod in census.active),
        "terminating": len(census.terminating),
        "succeeded": succeeded or None,
        "failed": status.get("failed", 0) + len(let_go["failed"]) or None,
        "uncountedTerminatedPods": {key: value for key, value in noted.items() if value},
    }
    if census.indexed:
        status["completedIndexes"] = completion_indexes.render(notes.completed) or None
    if census.per_index:
        status["failedIndexes"] = completion_indexes.render(census.failed_indexes)


def _notes(census: Census, verdict: Object | None) -> _Notes:
    """What is noted then, of pods that are over or have to be."""
    succeeded, failed = list(census.noted("succeeded")), list(census.noted("failed"))
    completed = set(
        completion_indexes.parse(census.status.get("completedIndexes", ""), census.spec["completions"] if census.indexed else 0)
    )
    failing = verdict is not None and verdict["type"] == completion.FAILURE
    release, fresh = [], 0
    for pod in sorted(census.pods, key=lambda each: pod_indexes.of(each) or 0) if census.indexed else census.pods:
        if not pod.tracked or not _is_over(census, verdict, pod):
            continue
        release.append(pod)
        uid, valid = pod.metadata.uid, census.valid(pod)
        if pod.status.phase == "Succeeded" and uid not in failed:
            if census.indexed and valid:
                completed.add(pod_indexes.of(pod) or 0)
            elif not census.indexed and uid not in succeeded:
                succeeded.append(uid)
        elif (failing or (census.failed_(pod) and not (verdict and pod.terminating))) and valid and uid not in failed:
            # Pods that a success policy ends early are no failures.
            failed += [uid] if policies.ruling(census.spec, pod).counts else []
        fresh += 1
        if fresh >= MOST_NOTED:
            break
    return _Notes(succeeded, failed, frozenset(completed), tuple(release))


def _is_over(census: Census, verdict: Object | None, pod: Pod) -> bool:
    if census.deleted or verdict is not None or pod.status.phase == "Succeeded":
        return True
    if not census.failed_(pod):
        return False
    index = pod_indexes.of(pod)
    return not (census.per_index and index is not None and census.awaiting_replacement.get(index) is pod)


def _conditions(status: Object, census: Census, verdict: Object | None, now: dt.datetime) -> tuple[tuple[str, str, str], ...]:
    held = list(status.get("conditions") or ())
    if "startTime" not in status and not census.suspended:
        status["startTime"] = times.rfc3339(now)
    events: tuple[tuple[str, str, str], ...] = ()
    if verdict is not None:
        if not completion.is_true(census.job, verdict["type"]):
            held.append(verdict)
    elif not census.deleted and census.suspended != completion.is_true(census.job, "Suspended"):
        word = "Suspended" if census.suspended else "Resumed"
        shown = "True" if census.suspended else "False"
        changed = completion.condition("Suspended", f"Job{word}", f"Job {word.lower()}", now, shown)
        held = [each for each in held if each["type"] != "Suspended"] + [changed]
        events = (("Normal", word, f"Job {word.lower()}"),)
        if not census.suspended:
            status["startTime"] = times.rfc3339(now)
    status["conditions"] = held or None
    return events


def _end(status: Object, census: Census, verdict: Object, now: dt.datetime) -> tuple[tuple[str, str, str], ...]:
    """The last condition: the one before it must have been written, so that nobody sees the end without the reason."""
    if not completion.is_true(census.job, verdict["type"]):
        return ()
    reason, message = verdict.get("reason", ""), verdict.get("message", "")
    final = completion.condition(completion.FINAL[verdict["type"]], reason, message, now)
    status["conditions"] = [*(status.get("conditions") or ()), final]
    if final["type"] == "Failed":
        return (("Warning", reason, message),)
    status["completionTime"] = final["lastTransitionTime"]
    completions = census.spec.get("completions")
    surplus = completions is not None and (status.get("succeeded") or 0) > completions
    told = (("Warning", "TooManySucceededPods", "Too many succeeded pods running after completion count reached"),)
    return (*(told if surplus else ()), ("Normal", "Completed", "Job completed"))
