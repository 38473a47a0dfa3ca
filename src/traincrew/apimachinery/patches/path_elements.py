"""Path elements of managedFields: f:name, k:{"name":"x"}, v:"x", i:0."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from traincrew.apimachinery import go_format
from traincrew.apimachinery.string_cache import cached

_UNSAFE = re.compile("[<>&\u2028\u2029]")
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


def literal(value: Any) -> str:
    """JSON as Go encodes it, with <, > and & escaped."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = _encode(value).decode()
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) if _UNSAFE.search(text) else text


@cached(4096)
def _string_literal(value: str) -> str:
    return literal(value)


def single_key_element(key: str, value: str) -> str:
    """The element of an item of a list with one key."""
    return f'k:{{"{key}":{_string_literal(value)}}}'


def key_element(values: dict[str, Any]) -> str:
    if len(values) == 1:
        ((key, value),) = values.items()
        if type(value) is str:
            return single_key_element(key, value)
    return "k:{" + ",".join(f'"{key}":{literal(values[key])}' for key in sorted(values)) + "}"


def value_element(value: Any) -> str:
    return f"v:{literal(value)}"


def content(element: str) -> Any:
    """Raises ValueError."""
    try:
        return _decode(element[2:].encode())
    except (msgspec.DecodeError, RecursionError):
        raise ValueError(element) from None


def normalize(element: str) -> str | None:
    """The normalized element; None if its kind is unknown. Raises ValueError for a malformed one."""
    if len(element) < 2 or element[1] != ":":
        raise ValueError(element)
    match element[0]:
        case "f":
            return element
        case "k" if isinstance(fields := content(element), dict):
            return key_element(fields)
        case "v":
            return value_element(content(element))
        case "i":
            return f"i:{int(element[2:])}"
        case "k":
            raise ValueError(element)
    return None


@cached(4096)
def sort_key(element: str) -> tuple[Any, ...]:
    """The order of the API server: fields, keys, values, indexes; numbers by size."""
    match element[0]:
        case "f":
            return (0, element)
        case "k":
            return (1, *((key, _value_sort_key(value)) for key, value in sorted(content(element).items())))
        case "v":
            return (2, _value_sort_key(content(element)))
        case "i":
            return (3, int(element[2:]))
    return (-1,)


def _value_sort_key(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, literal(value))


def display(element: str) -> str:
    """As in messages: .spec, [name="x"], [="x"], [0]."""
    match element[0]:
        case "f":
            return f".{element[2:]}"
        case "k":
            return "[" + ",".join(f"{key}={_display_value(value)}" for key, value in sorted(content(element).items())) + "]"
        case "v":
            return f"[={_display_value(content(element))}]"
    return f"[{element[2:]}]"


def _display_value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return go_format.quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_display_value, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{key}={_display_value(each)}" for key, each in value.items())
    return go_format.plain(value)
