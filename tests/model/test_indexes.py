"""Sets of indexes, short enough for a status."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner.examples import tried

from traincrew.model import indexes


@pytest.mark.parametrize(("found", "text"), [(set(), ""), ({0}, "0"), ({0, 1}, "0-1"), ({0, 1, 2, 5, 7, 8}, "0-2,5,7-8")])
def test_runs_are_written_by_their_ends(found: set[int], text: str) -> None:
    assert indexes.render(found) == text


@tried(100)
@hypothesis.given(st.sets(st.integers(0, 300)))
def test_what_is_written_is_read_again(found: set[int]) -> None:
    assert indexes.parse(indexes.render(found)) == found


@pytest.mark.parametrize("text", ["", "x", "-1", "1-", "a-b,,-", "5-2"])
def test_what_cannot_be_read_is_passed_over(text: str) -> None:
    assert indexes.parse(text) <= {1}


def test_a_status_that_somebody_edited_cannot_fill_the_memory() -> None:
    assert len(indexes.parse("0-99999999999")) < 1_000_000
