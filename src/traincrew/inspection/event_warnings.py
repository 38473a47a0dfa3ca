"""Warning events of a job and its pods that its explanation does not contain yet. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from traincrew import errors
from traincrew.apimachinery import durations
from traincrew.diagnosis import exit_codes
from traincrew.inspection import events, pod_waiting_reasons
from traincrew.model.meta import Time

SHOWN_EVENTS = 5


def unsaid(evidence: Sequence[events.ListedEvent], said: str, now: Time) -> list[str]:
    """The latest warnings that are not said yet. Equal warnings about several objects share a line."""
    same: dict[tuple[str, str, str], list[events.ListedEvent]] = {}
    said = _without_suggestions(said)
    for event in events.warnings(evidence):
        words = (event.involved_object.kind.lower(), event.reason, " ".join(event.message.split()))
        if not _is_in(said, words[2]):
            same[words] = [*same.pop(words, []), event]
    return [_warning(*words, same_events, now) for words, same_events in list(same.items())[-SHOWN_EVENTS:]]


def _is_in(said: str, message: str) -> bool:
    """Whether the message of an event is said, in other words around it."""
    words = pod_waiting_reasons.without_preemption(message.removeprefix("Error: ").removeprefix("Error creating: "))
    text = exit_codes.without_details(words)
    return _without_suggestions(text).rpartition(errors.STRICT_DECODING)[2] in said


def _without_suggestions(text: str) -> str:
    """The operator adds them to the words of the API server."""
    return re.sub(r" \(did you mean '[^']*'\?\)", "", text)


def _warning(kind: str, reason: str, message: str, same_events: Sequence[events.ListedEvent], now: Time) -> str:
    names = list(dict.fromkeys(event.involved_object.name for event in same_events))
    about = f"{kind} {names[0]}" if len(names) == 1 else pod_waiting_reasons.group(f"{kind}s", names)
    times = sum(event.times for event in same_events)
    repeated = f" ({times} times)" if times > len(names) else ""
    return f"{durations.age(same_events[-1].time, now)} ago, {about}: {reason}: {message}{repeated}"
