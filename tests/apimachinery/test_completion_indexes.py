"""Sets of indexes, short enough for a status."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples

from traincrew.apimachinery import completion_indexes


@pytest.mark.parametrize(("found", "text"), [(set(), ""), ({0}, "0"), ({0, 1}, "0-1"), ({0, 1, 2, 5, 7, 8}, "0-2,5,7-8")])
def test_runs_are_written_by_their_ends(found: set[int], text: str) -> None:
    assert completion_indexes.render(found, shortest_run=2) == text


@max_examples(100)
@hypothesis.given(st.sets(st.integers(0, 300)))
def test_what_is_written_is_read_again(found: set[int]) -> None:
    assert completion_indexes.parse(completion_indexes.render(found, shortest_run=2)) == found


@pytest.mark.parametrize("text", ["", "x", "-1", "1-", "a-b,,-", "5-2"])
def test_what_cannot_be_read_is_passed_over(text: str) -> None:
    assert completion_indexes.parse(text) <= {1}


def test_a_status_that_somebody_edited_cannot_fill_the_memory() -> None:
    assert len(completion_indexes.parse("0-99999999999")) < 1_000_000


@hypothesis.given(st.frozensets(st.integers(0, 50)))
def test_indexes_that_are_written_are_read_again(found: frozenset[int]) -> None:
    assert completion_indexes.parse(completion_indexes.render(found), 51) == found


@pytest.mark.parametrize(("found", "text"), [((0, 1), "0,1"), ((0, 1, 2), "0-2"), ((1, 3, 4, 5, 9), "1,3-5,9"), ((), "")])
def test_indexes_are_written_as_the_real_controller_writes_them(found: tuple[int, ...], text: str) -> None:
    assert completion_indexes.render(found) == text


def test_indexes_beyond_the_completions_are_forgotten() -> None:
    assert completion_indexes.parse("0-9", 3) == {0, 1, 2}
