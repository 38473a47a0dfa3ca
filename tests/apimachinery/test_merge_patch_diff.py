"""A created merge patch turns the live object into the desired one, and is minimal."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples
from tests.planner.simulation import merged

from traincrew.apimachinery import merge_patch_diff

_LEAVES = st.one_of(st.booleans(), st.integers(-3, 3), st.text("ab", max_size=2), st.lists(st.integers(0, 2), max_size=2))
_OBJECTS = st.recursive(
    st.dictionaries(st.text("xyz", min_size=1, max_size=1), _LEAVES, max_size=3),
    lambda inner: st.dictionaries(st.text("xyz", min_size=1, max_size=1), st.one_of(_LEAVES, inner), max_size=3),
    max_leaves=12,
)


@max_examples(100)
@hypothesis.given(_OBJECTS, _OBJECTS)
def test_the_patch_turns_the_old_value_into_the_new_one(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, merge_patch_diff.create_merge_patch(old, new)) == new


@max_examples(100)
@hypothesis.given(_OBJECTS)
def test_the_patch_between_equal_values_is_empty(value: dict[str, Any]) -> None:
    assert merge_patch_diff.create_merge_patch(value, value) == {}


def test_removed_keys_are_null_and_unchanged_keys_are_omitted() -> None:
    old = {"a": 1, "b": {"c": 1, "d": [1]}, "e": {"f": 1}}
    new = {"a": 1, "b": {"c": 2, "d": [1]}, "e": {}}
    assert merge_patch_diff.create_merge_patch(old, new) == {"b": {"c": 2}, "e": {"f": None}}


def test_a_list_is_replaced_as_a_whole() -> None:
    assert merge_patch_diff.create_merge_patch({"a": [1, 2]}, {"a": [2]}) == {"a": [2]}


def test_a_value_that_changes_its_type_is_replaced() -> None:
    assert merge_patch_diff.create_merge_patch({"a": {"b": 1}}, {"a": 1}) == {"a": 1}
    assert merged({"a": 1}, merge_patch_diff.create_merge_patch({"a": 1}, {"a": {"b": 1}})) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, id="a default that was filled in"),
        pytest.param({"value": "1"}, {"value": "1000m"}, id="a quantity spelt otherwise"),
        pytest.param([{"cpu": "2", "x": 1}], [{"cpu": 2}], id="inside a list"),
        pytest.param([{"type": "Resource"}], [], id="an empty list that was filled in"),
        pytest.param(None, [], id="an empty list that was left out"),
    ],
)
def test_equivalent_values_need_no_patch(live: Any, desired: Any) -> None:
    assert merge_patch_diff.contains(live, desired)


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        ({"a": 1}, {"a": 2}),
        ({}, {"a": 1}),
        (None, {"a": 1}),
        ([1], [1, 2]),
        (None, [1]),
        ({"a": "x"}, {"a": "y"}),
        ({"cpu": "1"}, {"cpu": "2"}),
        (None, 1),
    ],
)
def test_differences_need_a_patch(live: Any, desired: Any) -> None:
    assert not merge_patch_diff.contains(live, desired)
