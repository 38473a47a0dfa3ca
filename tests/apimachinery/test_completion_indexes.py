"""Sets of completion indexes as text."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples

from traincrew.apimachinery import completion_indexes


@pytest.mark.parametrize(("indexes", "text"), [(set(), ""), ({0}, "0"), ({0, 1}, "0-1"), ({0, 1, 2, 5, 7, 8}, "0-2,5,7-8")])
def test_runs_are_written_by_their_ends(indexes: set[int], text: str) -> None:
    assert completion_indexes.render(indexes, shortest_run=2) == text


@max_examples(100)
@hypothesis.given(st.sets(st.integers(0, 300)))
def test_rendered_indexes_are_parsed_back(indexes: set[int]) -> None:
    assert completion_indexes.parse(completion_indexes.render(indexes, shortest_run=2)) == indexes


@pytest.mark.parametrize("text", ["", "x", "-1", "1-", "a-b,,-", "5-2"])
def test_invalid_entries_are_ignored(text: str) -> None:
    assert completion_indexes.parse(text) <= {1}


def test_an_edited_status_cannot_exhaust_memory() -> None:
    assert len(completion_indexes.parse("0-99999999999")) < 1_000_000


@hypothesis.given(st.frozensets(st.integers(0, 50)))
def test_rendered_indexes_are_valid(indexes: frozenset[int]) -> None:
    assert completion_indexes.parse(completion_indexes.render(indexes), 51) == indexes


@pytest.mark.parametrize(("indexes", "text"), [((0, 1), "0,1"), ((0, 1, 2), "0-2"), ((1, 3, 4, 5, 9), "1,3-5,9"), ((), "")])
def test_indexes_are_written_as_the_real_controller_writes_them(indexes: tuple[int, ...], text: str) -> None:
    assert completion_indexes.render(indexes) == text


def test_indexes_beyond_the_completions_are_ignored() -> None:
    assert completion_indexes.parse("0-9", 3) == {0, 1, 2}
