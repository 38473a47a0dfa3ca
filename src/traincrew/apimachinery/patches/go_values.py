"""How a Kubernetes API server, written in Go, prints JSON values within its messages."""

from __future__ import annotations

import json
from typing import Any


def plain(value: Any) -> str:
    """`%v`: map[a:1 b:[x y]]."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{plain(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(plain, value)) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(value) if isinstance(value, float) else str(value)


def syntax(value: Any) -> str:
    """`%#v`: map[string]interface {}{"a":1}."""
    if isinstance(value, dict):
        return "map[string]interface {}{" + ", ".join(f"{quoted(key)}:{syntax(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(syntax, value)) + "}"
    if value is None:
        return "interface {}(nil)"
    return quoted(value) if isinstance(value, str) else plain(value)


def type_name(value: Any) -> str:
    """`%T`."""
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return "float64" if isinstance(value, float) else "string"


def json_name(value: Any) -> str:
    """As encoding/json names what it found: `cannot unmarshal array into ...`."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "number"


def quoted(text: str) -> str:
    """`%q`."""
    return json.dumps(text, ensure_ascii=False)


def number(value: float) -> str:
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text
