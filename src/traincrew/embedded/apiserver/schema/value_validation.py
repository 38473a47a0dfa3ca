"""Violations of a structural schema as field errors, with the messages of kube-apiserver."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from traincrew.apimachinery import field_errors, go_format
from traincrew.apimachinery.field_errors import FieldError, FieldErrors
from traincrew.apimachinery.structural import list_uniqueness, value_validation, violations
from traincrew.apimachinery.structural.schemas import NOTHING, Structure
from traincrew.apimachinery.structural.violations import MapKey, Path, SchemaViolation

ROOT = "<nil>"
"""The field of an error about the whole object."""
_GO_TYPES = {int: "int64", float: "float64"}


def check(value: Any, node: Structure, old: Any = NOTHING) -> list[FieldError]:
    """All errors. Those of parts that equal their old values are ignored (ratcheting)."""
    errors = FieldErrors(_RULES[each.rule](each) for each in value_validation.validate(value, node, (), old))
    return list({error.message + error.path: error for error in errors}.values()) if len(errors) > 1 else errors


def check_uniqueness(value: Any, node: Structure) -> list[FieldError]:
    """Errors of lists of type set and map."""
    return FieldErrors(map(_list_error, list_uniqueness.validate(value, node)))


def _list_error(violation: SchemaViolation) -> FieldError:
    path, value = _join(violation.path), go_format.field_value(violation.value)
    if violation.rule == violations.DUPLICATE:
        return FieldError(field_errors.DUPLICATE, path, f"Duplicate value: {value}")
    return FieldError(field_errors.INVALID, path, f"Invalid value: {value}: must be an object for an array of list-type map")


def _join(path: Path) -> str:
    text = ""
    for part in path:
        if isinstance(part, int | MapKey):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def _field(violation: SchemaViolation) -> str:
    return _join(violation.path).removeprefix(".") or ROOT


def _invalid(violation: SchemaViolation, detail: str) -> FieldError:
    shown, path = go_format.field_value(violation.value), _join(violation.path)
    return FieldError(field_errors.INVALID, _field(violation), f"Invalid value: {shown}: {path} in body {detail}")


def _wrong_type(violation: SchemaViolation, expected: str, actual: str) -> FieldError:
    quoted = go_format.quote(actual)
    message = f"Invalid value: {quoted}: {_join(violation.path)} in body must be of type {expected}: {quoted}"
    return FieldError(field_errors.TYPE_INVALID, _field(violation), message)


def _type(violation: SchemaViolation) -> FieldError:
    return _wrong_type(violation, ",".join(violation.node.types), value_validation.json_type(violation.value))


def _format_type(violation: SchemaViolation) -> FieldError:
    return _wrong_type(violation, violation.node.schema["format"], _GO_TYPES.get(violation.value.__class__, ""))


def _minimum(violation: SchemaViolation) -> FieldError:
    word = "than" if violation.node.schema.get("exclusiveMinimum") else "than or equal to"
    return _invalid(violation, f"should be greater {word} {go_format.plain(violation.limit)}")


def _maximum(violation: SchemaViolation) -> FieldError:
    word = "than" if violation.node.schema.get("exclusiveMaximum") else "than or equal to"
    return _invalid(violation, f"should be less {word} {go_format.plain(violation.limit)}")


def _invalid_factor(violation: SchemaViolation) -> FieldError:
    factor = violation.limit
    detail = f"factor MultipleOf declared for {_join(violation.path)} must be positive: {go_format.plain(factor)}"
    return FieldError(field_errors.INVALID, _field(violation), f"Invalid value: {go_format.field_value(factor)}: {detail}")


def _max_properties(violation: SchemaViolation) -> FieldError:
    message = f"Too many: {violation.value}: must have at most {violation.limit} items"
    return FieldError(field_errors.TOO_MANY, _field(violation), message)


def _enum(violation: SchemaViolation) -> FieldError:
    supported = ", ".join(
        go_format.quote(allowed if isinstance(allowed, str) else json.dumps(allowed, separators=(",", ":")))
        for allowed in violation.limit
    )
    message = f"Unsupported value: {go_format.field_value(violation.value)}: supported values: {supported}"
    return FieldError(field_errors.NOT_SUPPORTED, _field(violation), message)


def _composite(violation: SchemaViolation) -> FieldError:
    message = f'Invalid value: "": {go_format.quote(_join(violation.path))} {violation.limit}'
    return FieldError(field_errors.INVALID, ROOT, message)


_RULES: dict[str, Callable[[SchemaViolation], FieldError]] = {
    violations.TYPE: _type,
    violations.FORMAT_TYPE: _format_type,
    violations.FORMAT: lambda violation: _wrong_type(violation, violation.limit, violation.value),
    violations.PATTERN: lambda violation: _invalid(violation, f"should match '{violation.limit}'"),
    violations.ENUM: _enum,
    violations.MIN_LENGTH: lambda violation: _invalid(violation, f"should be at least {violation.limit} chars long"),
    violations.MAX_LENGTH: lambda violation: field_errors.too_long(_field(violation), violation.limit),
    violations.MINIMUM: _minimum,
    violations.MAXIMUM: _maximum,
    violations.MULTIPLE_OF: lambda violation: _invalid(violation, f"should be a multiple of {go_format.plain(violation.limit)}"),
    violations.INVALID_FACTOR: _invalid_factor,
    violations.MIN_ITEMS: lambda violation: _invalid(violation, f"should have at least {violation.limit} items"),
    violations.MAX_ITEMS: lambda violation: field_errors.too_many(_field(violation), violation.value, violation.limit),
    violations.UNIQUE_ITEMS: lambda violation: _invalid(violation, "shouldn't contain duplicates"),
    violations.MIN_PROPERTIES: lambda violation: _invalid(violation, f"should have at least {violation.limit} properties"),
    violations.MAX_PROPERTIES: _max_properties,
    violations.REQUIRED: lambda violation: field_errors.required(_field(violation)),
    violations.COMPOSITE: _composite,
    violations.UNFINISHED: lambda violation: field_errors.forbidden(ROOT, f"the object {violation.limit}"),
}
