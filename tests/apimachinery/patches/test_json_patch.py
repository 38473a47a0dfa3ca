"""JSON patches: RFC 6902, and the deviations of the API server."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apimachinery.patches import random_writes

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import json_patch

DOCUMENT: dict[str, Any] = {"foo": ["bar", "baz"], "o": {"a": 1, "x/y": 2, "m~n": 3, "null": None}, "t": True}

FIELD = "Go struct field jsonPatchOp.path of type string"


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        ({"op": "add", "path": "/new", "value": 1}, {"new": 1}),
        ({"op": "add", "path": "/foo/1", "value": "q"}, {"foo": ["bar", "q", "baz"]}),
        ({"op": "add", "path": "/foo/-", "value": ["q"]}, {"foo": ["bar", "baz", ["q"]]}),
        ({"op": "add", "path": "/foo/2", "value": "q"}, {"foo": ["bar", "baz", "q"]}),
        ({"op": "add", "path": "/foo/-1", "value": "q"}, {"foo": ["bar", "baz", "q"]}),
        ({"op": "remove", "path": "/foo/0"}, {"foo": ["baz"]}),
        ({"op": "remove", "path": "/foo/-1"}, {"foo": ["bar"]}),
        ({"op": "remove", "path": "/o/x~1y"}, {"o": {"a": 1, "m~n": 3, "null": None}}),
        ({"op": "replace", "path": "/o/m~0n", "value": 4}, {"o": {"a": 1, "x/y": 2, "m~n": 4, "null": None}}),
        ({"op": "replace", "path": "/nothing", "value": 4}, {"nothing": 4}),
        ({"op": "move", "from": "/o/a", "path": "/foo/0"}, {"foo": [1, "bar", "baz"], "o": {"x/y": 2, "m~n": 3, "null": None}}),
        ({"op": "copy", "from": "/foo/0", "path": "/b"}, {"b": "bar"}),
        ({"op": "copy", "from": "/o/nothing", "path": "/b"}, {"b": None}),
        ({"op": "test", "path": "/t", "value": True}, {}),
        ({"op": "test", "path": "/o/nothing", "value": None}, {}),
        ({"op": "replace", "path": "", "value": "no object: passed over"}, {}),
        ({"op": "add", "path": "no slash first/b", "value": 1}, {"b": 1}),
    ],
)
def test_operations_that_apply(operation: dict[str, Any], changed: dict[str, Any]) -> None:
    assert json_patch.apply(DOCUMENT, [operation]) == DOCUMENT | changed


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/a/b", "value": 1},
        {"op": "add", "path": "/foo/4", "value": 1},
        {"op": "add", "path": "/foo/x", "value": 1},
        {"op": "add", "path": "/t/x", "value": 1},
        {"op": "add", "path": "/o/null/x", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "value": 1},
        {"op": "remove", "path": "/nothing"},
        {"op": "remove", "path": "/foo/2"},
        {"op": "remove", "path": "/foo/-3"},
        {"op": "replace", "path": "/foo/2", "value": 1},
        {"op": "move", "from": "/nothing", "path": "/b"},
        {"op": "move", "path": "/b"},
        {"op": "test", "path": "/t", "value": 1},
        {"op": "test", "path": "/o/a", "value": 1.0},
        {"op": "frob", "path": "/t"},
        {"path": "/t"},
        None,
    ],
)
def test_operations_that_do_not_apply_get_the_same_error(operation: Any) -> None:
    with pytest.raises(StatusError) as error:
        json_patch.apply(DOCUMENT, [operation])
    assert error.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("operations", "code", "message"),
    [
        ({}, 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (["x"], 400, "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        ([{"path": 1}], 400, f"error decoding patch: json: cannot unmarshal number into {FIELD}"),
        ([{}] * 10001, 413, "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"),
    ],
)
def test_bodies_that_are_not_lists_of_operations_are_rejected(operations: Any, code: int, message: str) -> None:
    with pytest.raises(StatusError) as error:
        json_patch.apply(DOCUMENT, operations)
    assert (error.value.code, error.value.message) == (code, message)


def test_a_document_must_stay_an_object() -> None:
    with pytest.raises(StatusError, match='patch: Invalid value: "\\[1\\]": couldn\'t get version/kind') as error:
        json_patch.apply(DOCUMENT, [{"op": "replace", "path": "", "value": [1]}])
    assert error.value.status()["details"]["causes"][0]["field"] == "patch"


def test_copied_values_change_independently() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/o/list", "value": [1]},
        {"op": "copy", "from": "/o", "path": "/p"},
        {"op": "add", "path": "/o/list/-", "value": 2},
        {"op": "add", "path": "/p/list/-", "value": 3},
    ]
    patched = json_patch.apply(DOCUMENT, operations)
    assert (patched["o"]["list"], patched["p"]["list"]) == ([1, 2], [1, 3])
    assert operations[0]["value"] == [1]


@given(st.integers(0, 2**32))
def test_neither_document_nor_patch_is_changed(seed: int) -> None:
    rng = random.Random(seed)
    document = {"metadata": {"labels": {"a": "x"}, "annotations": {}}, "data": {"a": [1, {"b": 2}]}}
    operations = [each for _ in range(4) for each in random_writes.json_patch(rng, document)]
    kept = copy.deepcopy((document, operations))
    for operation in operations:
        try:
            json_patch.apply(document, [*operations[:1], operation])
        except StatusError:
            continue
        finally:
            assert (document, operations) == kept


def test_unknown_fields_of_operations_are_reported() -> None:
    assert json_patch.unknown_fields([{"op": "test", "path": "/a", "foo": 1}]) == ['json patch unknown field "[0].foo"']
