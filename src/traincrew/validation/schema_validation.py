"""An API server's verdict on an object by its structural schema, with its peculiarities.

Formats of numbers are not checked (`int32` bounds nothing); a list passes for a string that has a format; a number with a zero
fraction passes for an integer; numbers beyond 64 bits are floats.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from traincrew.validation.findings import Finding, Path, Value

Schema = dict[str, Any]

_FORMATS = ("date-time",)
"""The formats in our schemas that an API server checks."""


def check(value: Value, schema: Schema, path: Path = ()) -> Iterator[Finding]:
    """Everything that the schema forbids; empty for a valid value."""
    wrong = _type_fault(value, schema)
    if wrong:
        yield Finding(path, wrong)
    elif isinstance(value, dict):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list):
        yield from _check_list(value, schema, path)
    else:
        yield from (Finding(path, message) for message in _scalar_faults(value, schema))


def _check_object(value: dict[str, Value], schema: Schema, path: Path) -> Iterator[Finding]:
    for key in schema.get("required", ()):
        if key not in value:
            yield Finding((*path, key), "is required")
    most = schema.get("maxProperties")
    if most is not None and len(value) > most:
        yield Finding(path, f"must have at most {most} entries, got {len(value)}")
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for key, inner in value.items():
        node = properties.get(key) or others
        if node is not None:
            yield from check(inner, node, (*path, key))


def _check_list(value: list[Value], schema: Schema, path: Path) -> Iterator[Finding]:
    if len(value) < schema.get("minItems", 0):
        yield Finding(path, f"must have at least {schema['minItems']} item")
    if len(value) > schema.get("maxItems", len(value)):
        yield Finding(path, f"must have at most {schema['maxItems']} items, got {len(value)}")
    if "items" in schema:
        for index, inner in enumerate(value):
            yield from check(inner, schema["items"], (*path, index))
    yield from _duplicates(value, schema, path)


def _duplicates(value: list[Value], schema: Schema, path: Path) -> Iterator[Finding]:
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("set", "map"):
        return
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen: set[object] = set()
    for index, inner in enumerate(value):
        mark = _identity(inner) if kind == "set" else _map_identity(inner, keys)
        if mark in seen:
            told = "" if kind == "set" else " of " + " and ".join(keys)
            yield Finding((*path, index), f"duplicate value{told}: {_shown(inner, keys)}")
        seen.add(mark)


def _map_identity(value: Value, keys: list[str]) -> object:
    if len(keys) == 1:
        return _identity(value[keys[0]]) if isinstance(value, dict) and keys[0] in value else None
    return _identity({key: value[key] for key in keys if key in value} if isinstance(value, dict) else {})


def _identity(value: Value) -> object:
    """Equal for equal JSON values; 1, 1.0 and true are three values."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else (type(value), value)


def _shown(value: Value, keys: list[str]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {value[key]!r}" for key in keys if key in value) or "none given"
    return repr(value)


def _type_fault(value: Value, schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        wanted: tuple[str, ...] = ("integer", "string")
    elif "type" in schema:
        wanted = (schema["type"],)
    else:
        return ""
    found = kind_of(value)
    if found in wanted or (found == "number" and "integer" in wanted and is_whole(value)):
        return ""
    if found == "array" and wanted == ("string",) and schema.get("format") in _FORMATS:
        return ""
    return f"must be {_an(wanted)}, got {_told(value, found)}{_hint(value, wanted)}"


def kind_of(value: Value) -> str:
    """The JSON type as an API server sees it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -(2**63) <= value < 2**63 else "number"
    return {float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def is_whole(value: float) -> bool:
    """Whether a float passes for an integer: exactly, or so nearly that the API server does not see the difference."""
    if not -(2**53) <= value < 2**53:
        return False
    if value == int(value):
        return True
    return value >= 1 and (value - int(value)) / (value + int(value)) < 1e-9


_NAMES = {
    "integer": "an integer",
    "string": "a string",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "number": "a number",
    "null": "null",
}


def _an(wanted: tuple[str, ...]) -> str:
    return " or ".join(_NAMES[name] for name in wanted)


def _told(value: Value, found: str) -> str:
    return _NAMES[found] if found in ("array", "object", "null") else repr(value)


def _hint(value: Value, wanted: tuple[str, ...]) -> str:
    if "string" in wanted and isinstance(value, bool | int | float):
        text = json.dumps(value)
        return f" (write it in quotes: {text!r})"
    if wanted == ("integer",) and isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
        return " (write it without quotes)"
    return ""


def _scalar_faults(value: Value, schema: Schema) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"unsupported value {value!r}, must be one of {', '.join(map(str, schema['enum']))}"
    if not isinstance(value, str):
        return
    if len(value) < schema.get("minLength", 0):
        yield "must not be empty"
    if "pattern" in schema and not _compiled(schema["pattern"]).search(value):
        yield f"{value!r} is not {_pattern_words(schema)}"
    if schema.get("format") == "date-time" and not is_date_time(value):
        yield f"{value!r} is not a time such as 2024-12-31T23:59:59Z"


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Go's $ is the very end; Python's would let a line break pass.
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


def _pattern_words(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "a quantity such as 2, 500m or 4Gi"
    return f"of the form {schema['pattern']}"


_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")


def is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    time = _TIME.fullmatch(parts[1]) if len(parts) > 1 else None
    return time is not None and is_date(parts[0]) and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"


def is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = (int(part) for part in found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]
