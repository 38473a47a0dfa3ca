"""Properties of merge patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import merge_patch

KEYS = st.sampled_from("abc")
SCALARS = st.one_of(st.integers(0, 2), st.sampled_from(["x", "y"]), st.booleans())
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=3)))
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=3)
NULLABLE = st.recursive(
    st.one_of(SCALARS, st.none(), st.lists(VALUES, max_size=2)), lambda inner: st.dictionaries(KEYS, inner, max_size=3)
)
PATCHES = st.dictionaries(KEYS, NULLABLE, max_size=3)


def patch_between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        was = before.get(key)
        if isinstance(was, dict) and isinstance(value, dict):
            patch[key] = patch_between(was, value)
        elif key not in before or was != value or type(was) is not type(value):
            patch[key] = value
    return patch


@given(DOCUMENTS)
def test_an_empty_patch_changes_nothing(document: dict[str, Any]) -> None:
    assert merge_patch.apply(document, {}) == document


@given(DOCUMENTS, PATCHES)
def test_a_patch_is_idempotent(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch.apply(document, patch)
    assert merge_patch.apply(once, patch) == once


@given(DOCUMENTS, DOCUMENTS)
def test_the_diff_of_two_documents_turns_one_into_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert merge_patch.apply(before, patch_between(before, after)) == after


@given(DOCUMENTS, PATCHES)
def test_neither_document_nor_patch_is_changed(document: dict[str, Any], patch: dict[str, Any]) -> None:
    kept = copy.deepcopy((document, patch))
    merge_patch.apply(document, patch)
    assert (document, patch) == kept


@given(PATCHES)
def test_new_objects_have_no_nulls(patch: dict[str, Any]) -> None:
    assert not _has_null_fields(merge_patch.apply({}, patch))


def _has_null_fields(value: Any) -> bool:
    if isinstance(value, dict):
        return any(each is None or _has_null_fields(each) for each in value.values())
    return isinstance(value, list) and any(map(_has_null_fields, value))


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": {"b": "c"}}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
        ({"a": {}}, {"a": [{"b": None}, None]}, {"a": [{"b": None}, None]}),
    ],
)
def test_examples_and_nulls_in_lists(document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert merge_patch.apply(document, patch) == expected


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (5, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
    ],
)
def test_values_that_are_not_objects_are_rejected(patch: Any, message: str) -> None:
    with pytest.raises(StatusError) as error:
        merge_patch.apply({}, patch)
    assert (error.value.code, error.value.reason, error.value.message) == (400, "BadRequest", message)
