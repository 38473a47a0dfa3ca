"""Values within messages that the API server prints in Go's own syntax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.field_errors import FieldError


def quoted(text: str) -> str:
    return field_errors.shown(text)


def strings(values: Sequence[str] | None, kind: str = "string") -> str:
    return f"[]{kind}(nil)" if values is None else f"[]{kind}{{{', '.join(map(quoted, values))}}}"


def texts(values: Mapping[str, str] | None) -> str:
    """A map of strings. Go prints its keys in order."""
    if values is None:
        return "map[string]string(nil)"
    return f"map[string]string{{{', '.join(f'{quoted(key)}:{quoted(values[key])}' for key in sorted(values))}}}"


def selector(value: Mapping[str, Any] | None) -> str:
    """A label selector."""
    if value is None:
        return '"null"'
    wanted = ", ".join(
        f"v1.LabelSelectorRequirement{{Key:{quoted(each.get('key') or '')}, Operator:{quoted(each.get('operator') or '')}, "
        f"Values:{strings(each.get('values'))}}}"
        for each in value.get("matchExpressions") or ()
    )
    expressions = f"[]v1.LabelSelectorRequirement{{{wanted}}}" if wanted else "[]v1.LabelSelectorRequirement(nil)"
    return f"v1.LabelSelector{{MatchLabels:{texts(value.get('matchLabels'))}, MatchExpressions:{expressions}}}"


def invalid(path: str, shown: str, detail: str) -> FieldError:
    """With a value that is already in Go's syntax."""
    return FieldError(field_errors.INVALID, path, f"Invalid value: {shown}: {detail}")


def invalid_bare(path: str, detail: str) -> FieldError:
    """Where the API server omits the value."""
    return FieldError(field_errors.INVALID, path, f"Invalid value: {detail}")


def duplicate(path: str, shown: str, detail: str = "") -> FieldError:
    return FieldError(field_errors.DUPLICATE, path, f"Duplicate value: {shown}" + (f": {detail}" if detail else ""))


def listed(values: Sequence[Any]) -> str:
    """`%q` of a list: `["a" "b"]`."""
    return f"[{' '.join(quoted(str(each)) for each in values)}]"
