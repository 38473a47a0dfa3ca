"""The messages of events about many objects."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies as st

from traincrew.client.events import MESSAGE_LIMIT
from traincrew.model.resources import PODS
from traincrew.operator import job_events

NAMES = st.sets(st.from_regex(r"[a-z][a-z0-9-]{0,60}[a-z0-9]", fullmatch=True), min_size=1, max_size=200)


@hypothesis.given(NAMES)
def test_an_event_names_whole_objects_and_counts_the_others(names: set[str]) -> None:
    event, _ = job_events.created(PODS, {name: f"uid of {name}" for name in names})
    assert len(event.message) <= MESSAGE_LIMIT
    listed, _, more = event.message.removeprefix("Created pod: ").partition(" and ")
    shown = listed.split(", ")
    assert shown == sorted(names)[: len(shown)]
    assert len(shown) + int(more.removesuffix(" more") or 0) == len(names)
    assert len(shown) == len(names) or len(event.message) > MESSAGE_LIMIT - 2 * 64, "as many as there is room for"


def test_an_event_about_thousands_of_pods_says_how_many_there_are() -> None:
    event, uids = job_events.created(PODS, {f"j-worker-{index}": str(index) for index in range(5000)})
    assert event.message.endswith(" more")
    assert len(uids) == 5000
