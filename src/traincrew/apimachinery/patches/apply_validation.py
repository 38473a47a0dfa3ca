"""Validation of applied configurations by their schema, with the messages of the API server."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import go_format
from traincrew.apimachinery.patches import list_items, path_elements
from traincrew.apimachinery.patches.typed_schemas import BOOLEAN, LIST, MAP, NUMERIC, STRING, TypeDef
from traincrew.apimachinery.unstructured import Object

TypedError = tuple[str, str]
"""Path and message."""


def error_message(document: Object, type_def: TypeDef) -> str:
    """All errors as one message; empty if there are none."""
    errors = [f"{path}: {message}" if path else message for path, message in _errors(document, type_def)]
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors]) if errors else ""


def _errors(value: Any, type_def: TypeDef) -> list[TypedError]:
    kind = type_def.kind(value)
    if value is None:
        return []
    if kind == MAP:
        return _map_errors(value, type_def) if isinstance(value, dict) else [("", f"expected map, got {_boxed(value)}")]
    if kind == LIST:
        return _list_errors(value, type_def) if isinstance(value, list) else [("", f"expected list, got {_boxed(value)}")]
    message = _scalar_error(value, type_def.scalar)
    return [("", message)] if message else []


def _map_errors(value: Object, type_def: TypeDef) -> list[TypedError]:
    errors: list[TypedError] = []
    for name, each in value.items():
        below = type_def.field(name)
        if below is None:
            return [*errors, (f".{name}", "field not declared in schema")]
        if faulty := _errors(each, below):
            errors += [(f".{name}{path}", message) for path, message in faulty]
    return errors


def _list_errors(value: list[Any], type_def: TypeDef) -> list[TypedError]:
    errors: list[TypedError] = []
    seen = set()
    for at, each in enumerate(value):
        try:
            element = f"i:{at}" if type_def.atomic_list else list_items.path_element(each, type_def)
        except list_items.MissingKeyError as error:
            return [*errors, ("", f"element {at}: {error}")]
        if element in seen:
            errors.append(("", f"duplicate entries for key {path_elements.display(element)}"))
        seen.add(element)
        if faulty := _errors(each, type_def.items):
            errors += [(f"{path_elements.display(element)}{path}", message) for path, message in faulty]
    return errors


def _scalar_error(value: Any, scalar: str) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if scalar == NUMERIC:
        return "" if is_number else f"expected numeric (int or float), got {go_format.type_name(value)}"
    if scalar == STRING:
        boxed = f"&value.valueUnstructured{{Value:{go_format.syntax(value)}}}"
        return "" if isinstance(value, str) else f"expected string, got {boxed}"
    if scalar == BOOLEAN:
        return "" if isinstance(value, bool) else f"expected boolean, got {_boxed(value)}"
    return f"expected any scalar, got {_boxed(value)}" if isinstance(value, dict | list) else ""


def _boxed(value: Any) -> str:
    return f"&{{{go_format.plain(value)}}}"
