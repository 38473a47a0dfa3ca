"""JSON texts that are nested too deeply for a recursive decoder."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from traincrew.apimachinery import json_nesting

VALUES = st.recursive(
    st.none() | st.integers() | st.text('ab"\\[]{}'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab"\\[]{}'), inner, max_size=4),
)


def cut(value: Any, depth: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if depth == 1:
        return type(value)()
    if isinstance(value, dict):
        return {key: cut(each, depth - 1) for key, each in value.items()}
    return [cut(each, depth - 1) for each in value]


@given(VALUES, st.integers(1, 6))
def test_containers_at_the_depth_are_empty_and_the_rest_is_the_same(value: Any, depth: int) -> None:
    assert json.loads(json_nesting.limited(json.dumps(value).encode(), depth)) == cut(value, depth)


def test_a_text_of_any_depth_is_decoded() -> None:
    decoded = json_nesting.decode(msgspec.json.decode, b"[" * 9_999 + b"]" * 9_999)
    assert cut(decoded, json_nesting.MAX_DEPTH - 1) != []
