"""The peculiarities of an API server's schema validation, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.validation import schema_findings

TIME = {"type": "string", "format": "date-time"}
QUANTITY = {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+(Gi)?$"}
PORTS = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]}
NAMES = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        pytest.param(2.0, {"type": "integer"}, id="a float without a fraction is an integer"),
        pytest.param(2**40, {"type": "integer", "format": "int32"}, id="int32 bounds nothing"),
        pytest.param([], TIME, id="a list passes for a string that has a format"),
        pytest.param("2024-02-29t10:00:00.5+01:00", TIME, id="a time in lower case"),
        pytest.param(5, QUANTITY, id="a pattern is for strings"),
        pytest.param([{"port": 1}, {"port": 1, "protocol": "UDP"}], PORTS, id="keys that differ in one part"),
        pytest.param([1, 1.0, True], {"type": "array", "x-kubernetes-list-type": "set"}, id="three values in a set"),
        pytest.param("", {"type": "string"}, id="an empty string"),
        pytest.param({"a": 1}, {"type": "object"}, id="fields without a schema"),
    ],
)
def test_what_passes(value: Any, schema: dict[str, Any]) -> None:
    assert list(schema_findings.check(value, schema)) == []


@pytest.mark.parametrize(
    ("value", "schema", "message"),
    [
        (2.5, {"type": "integer"}, "must be an integer, got 2.5"),
        (2**63, {"type": "integer"}, "must be an integer"),
        (float(2**53), {"type": "integer"}, "must be an integer"),
        (True, {"type": "integer"}, "must be an integer, got True"),
        (None, {"type": "string"}, "must be a string, got null"),
        ("2024-02-30T00:00:00Z", TIME, "is not a time"),
        ("2024-02-28T24:00:00Z", TIME, "is not a time"),
        ("2024-02-28", TIME, "is not a time"),
        (5, TIME, "must be a string"),
        ("5\n", QUANTITY, "is not a quantity"),
        (0.5, QUANTITY, "must be an integer or a string, got 0.5 (write it in quotes: '0.5')"),
        ([{"port": 1}, {"port": 1}], PORTS, "duplicate value of port and protocol: port 1"),
        ([{}, {}], NAMES, "duplicate value of name: none given"),
        (["a", "a"], {"type": "array", "x-kubernetes-list-type": "set"}, "duplicate value: 'a'"),
        ("b", {"type": "string", "enum": ["a"]}, "unsupported value 'b', must be one of a"),
        ("", {"type": "string", "minLength": 1}, "must not be empty"),
        ([1, 2], {"type": "array", "maxItems": 1}, "must have at most 1 items, got 2"),
        ({"a": 1, "b": 2}, {"type": "object", "maxProperties": 1}, "must have at most 1 entries, got 2"),
        ({}, {"type": "object", "required": ["a"]}, "is required"),
    ],
)
def test_what_is_refused(value: Any, schema: dict[str, Any], message: str) -> None:
    (found,) = schema_findings.check(value, schema)
    assert message in found.message
