"""Values as Go's fmt package prints them, which the API server's messages contain: `%v`, `%#v`, `%q` and `%T`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", '"': '\\"', "\\": "\\\\"}
_QUOTED = re.compile(r'[\x00-\x1f"\\\x7f-\x9f\xad]|[^\x00-\x7f]')


def quote(text: str) -> str:
    """`%q`, strconv.Quote."""
    return f'"{_QUOTED.sub(_escape, text)}"'


def quote_rune(character: str) -> str:
    """`%q` of a rune, strconv.QuoteRune."""
    return {"'": "'\\''", '"': "'\"'"}.get(character) or f"'{quote(character)[1:-1]}'"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_list(values: Iterable[object]) -> str:
    """`%q` of a slice: `["a" "b"]`."""
    return f"[{' '.join(quote(str(each)) for each in values)}]"


def plain(value: object) -> str:
    """`%v` of unstructured data: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    return "<nil>" if value is None else str(value)


def number(value: float) -> str:
    """`%v` of a float64: the shortest digits that identify it, with an exponent if it is large or tiny."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    text = next((text for places in range(17) if float(text := f"{value:.{places}e}") == value), f"{value:.16e}")
    exponent = int(text.partition("e")[2])
    if exponent < -4 or exponent >= 6:
        return text
    digits = len(text.partition("e")[0].lstrip("-").replace(".", ""))
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def syntax(value: object) -> str:
    """`%#v` of unstructured data: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quote(key)}:{syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(syntax, value))}}}"
    return "interface {}(nil)" if value is None else quote(value) if isinstance(value, str) else plain(value)


def string_slice(values: Iterable[str] | None, element: str = "string") -> str:
    """`%#v` of a []string, or of a slice of another string type."""
    return f"[]{element}(nil)" if values is None else f"[]{element}{{{', '.join(map(quote, values))}}}"


def string_map(values: Mapping[str, str] | None) -> str:
    """`%#v` of a map[string]string. Go prints its keys in order."""
    if values is None:
        return "map[string]string(nil)"
    return f"map[string]string{{{', '.join(f'{quote(key)}:{quote(values[key])}' for key in sorted(values))}}}"


def label_selector(value: Mapping[str, Any] | None) -> str:
    """`%#v` of a metav1.LabelSelector, within a field error."""
    if value is None:
        return '"null"'
    requirements = ", ".join(
        f"v1.LabelSelectorRequirement{{Key:{quote(each.get('key') or '')}, Operator:{quote(each.get('operator') or '')}, "
        f"Values:{string_slice(each.get('values'))}}}"
        for each in value.get("matchExpressions") or ()
    )
    expressions = f"[]v1.LabelSelectorRequirement{{{requirements}}}" if requirements else "[]v1.LabelSelectorRequirement(nil)"
    return f"v1.LabelSelector{{MatchLabels:{string_map(value.get('matchLabels'))}, MatchExpressions:{expressions}}}"


def field_value(value: object) -> str:
    """A value as field.Error prints it: strings quoted, numbers bare, nil as the text null, the rest in Go's syntax."""
    if value is None:
        return '"null"'
    return syntax(value) if isinstance(value, dict | list | str) else plain(value)


def type_name(value: object) -> str:
    """`%T` of unstructured data."""
    names = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64", float: "float64"}
    return names.get(type(value), "<nil>")


def json_type(value: object) -> str:
    """The name that encoding/json has for a value: `cannot unmarshal array into ...`."""
    names = {dict: "object", list: "array", str: "string", bool: "bool"}
    return names.get(type(value), "number")
