"""An answer 403 of the API server takes the workers on idle capacity away only if it lasts."""

from __future__ import annotations

import datetime as dt

from traincrew import errors
from traincrew.operator.forbidden_reads import ForbiddenReads

START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def answer() -> dict[str, Exception]:
    return {"nodes": errors.Forbidden("nodes is forbidden")}


def test_what_could_never_be_read_counts_at_once() -> None:
    assert ForbiddenReads().lasting(answer(), synced=False, now=START) == "nodes"


def test_answers_that_are_repeated_count_after_a_minute() -> None:
    reads = ForbiddenReads()
    assert [reads.lasting(answer(), synced=True, now=at(seconds)) for seconds in range(0, 70, 5)] == [""] * 12 + ["nodes"] * 2
    assert reads.lasting({}, synced=True, now=at(70)) == ""
    assert reads.lasting(answer(), synced=True, now=at(75)) == "", "it begins again"


def test_an_answer_that_is_not_repeated_does_not_count() -> None:
    """A watch that was established since says nothing before something changes."""
    reads, once = ForbiddenReads(), answer()
    assert not any(reads.lasting(once, synced=True, now=at(seconds)) for seconds in range(0, 600, 5))
    assert not reads.are_recent(at(600))
