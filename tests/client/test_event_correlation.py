"""The event correlator: repetitions, similar events and floods."""

from __future__ import annotations

import datetime as dt

from traincrew.client.event_correlation import SPAM_BURST, Correlator
from traincrew.client.events import NORMAL, EventSource, ObjectReference, RecordedEvent

POD = ObjectReference("Pod", "v1", "n", "p", "u", "1")
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def event(message: str, seconds: float = 0) -> RecordedEvent:
    return RecordedEvent(POD, EventSource("c"), NORMAL, "Because", message, START + dt.timedelta(seconds=seconds))


def test_a_repeated_event_is_counted_on_the_first() -> None:
    correlator = Correlator()
    first = correlator.correlate(event("a"))
    assert correlator.correlate(event("a", 1)) is first
    assert first is not None
    assert first.count == 2


def test_from_the_tenth_on_similar_events_are_combined() -> None:
    correlator = Correlator()
    observations = [correlator.correlate(event(str(number), number)) for number in range(12)]
    messages = [each.message for each in observations if each is not None]
    assert messages[8] == "8"
    assert observations[9] is observations[11]
    assert messages[11] == "(combined from similar events): 11"


def test_a_flood_about_one_object_is_dropped_until_tokens_are_refilled() -> None:
    correlator = Correlator()
    observations = [correlator.correlate(event("a")) for _ in range(SPAM_BURST + 5)]
    assert observations.count(None) == 5
    assert correlator.correlate(event("a", 301)) is not None
