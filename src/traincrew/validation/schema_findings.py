"""Violations of a structural schema as findings, with the messages of `traincrew validate`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from traincrew.apimachinery.findings import ManifestFinding, Value
from traincrew.apimachinery.structural import list_uniqueness, schemas, value_validation, violations
from traincrew.apimachinery.structural.violations import Path, SchemaViolation

Schema = dict[str, Any]

_NAMES = {
    "integer": "an integer",
    "string": "a string",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "number": "a number",
    "null": "null",
}


def check(value: Value, schema: Schema, path: Path = ()) -> Iterator[ManifestFinding]:
    """All violations of the schema. For a value of the wrong type only the type is reported."""
    node = schemas.of(schema)
    violations = [*value_validation.validate(value, node, path), *list_uniqueness.validate(value, node, path)]
    mistyped: dict[Path, SchemaViolation] = {}
    for violation in violations:
        if violation.rule in _TYPE_RULES:
            mistyped.setdefault(violation.path, violation)
    for violation in violations:
        if mistyped.get(violation.path, violation) is violation:
            yield ManifestFinding(violation.path, _MESSAGES[violation.rule](violation))


_TYPE_RULES = (violations.TYPE, violations.FORMAT_TYPE)


def _type(violation: SchemaViolation) -> str:
    value, expected = violation.value, violation.node.types
    actual = value_validation.json_type(value)
    shown = _NAMES[actual] if actual in ("array", "object", "null") else repr(value)
    return f"must be {' or '.join(_NAMES[name] for name in expected)}, got {shown}{_hint(value, expected)}"


def _hint(value: Value, expected: tuple[str, ...]) -> str:
    if "string" in expected and isinstance(value, bool | int | float):
        return f" (write it in quotes: {json.dumps(value)!r})"
    if expected == ("integer",) and isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
        return " (write it without quotes)"
    return ""


def _pattern(violation: SchemaViolation) -> str:
    quantity = violation.node.schema.get("x-kubernetes-int-or-string")
    expected = "a quantity such as 2, 500m or 4Gi" if quantity else f"of the form {violation.limit}"
    return f"{violation.value!r} is not {expected}"


def _format(violation: SchemaViolation) -> str:
    expected = "a time such as 2024-12-31T23:59:59Z" if violation.limit == "date-time" else f"of the format {violation.limit}"
    return f"{violation.value!r} is not {expected}"


def _duplicate(violation: SchemaViolation) -> str:
    keys = violation.node.keys
    if violation.node.list_type == "set":
        return f"duplicate value: {violation.value!r}"
    shown = ", ".join(f"{key} {violation.value[key]!r}" for key in keys if key in violation.value) or "none given"
    return f"duplicate value of {' and '.join(keys)}: {shown}"


def _bound(word: str) -> Callable[[SchemaViolation], str]:
    return lambda violation: f"must be {word} {violation.limit}, got {violation.value}"


def _count(word: str, unit: str) -> Callable[[SchemaViolation], str]:
    return lambda violation: f"must have {word} {violation.limit} {unit}, got {violation.value}"


_MESSAGES: dict[str, Callable[[SchemaViolation], str]] = {
    violations.TYPE: _type,
    violations.FORMAT_TYPE: _type,
    violations.FORMAT: _format,
    violations.PATTERN: _pattern,
    violations.ENUM: lambda violation: (
        f"unsupported value {violation.value!r}, must be one of {', '.join(map(str, violation.limit))}"
    ),
    violations.MIN_LENGTH: lambda violation: (
        "must not be empty" if violation.limit == 1 else f"must have at least {violation.limit} characters"
    ),
    violations.MAX_LENGTH: lambda violation: f"must have at most {violation.limit} characters",
    violations.MINIMUM: _bound("at least"),
    violations.MAXIMUM: _bound("at most"),
    violations.MULTIPLE_OF: _bound("a multiple of"),
    violations.INVALID_FACTOR: lambda violation: f"the schema demands a multiple of {violation.limit}",
    violations.MIN_ITEMS: _count("at least", "items"),
    violations.MAX_ITEMS: _count("at most", "items"),
    violations.UNIQUE_ITEMS: lambda violation: "must not contain duplicates",
    violations.MIN_PROPERTIES: _count("at least", "entries"),
    violations.MAX_PROPERTIES: _count("at most", "entries"),
    violations.REQUIRED: lambda violation: "is required",
    violations.COMPOSITE: lambda violation: str(violation.limit),
    violations.UNFINISHED: lambda violation: str(violation.limit),
    violations.DUPLICATE: _duplicate,
    violations.NO_MAP_ENTRY: lambda violation: "must be a mapping",
}
