"""Validation of strings, numbers and enums against a structural schema."""

from __future__ import annotations

import math
from typing import Any

from traincrew.apimachinery.structural import violations
from traincrew.apimachinery.structural.schemas import AllowedValues, Structure
from traincrew.apimachinery.structural.violations import Path, SchemaViolation, Violations


def is_integral(value: float) -> bool:
    """Whether a float is accepted as an integer: exactly, or within the precision of the API server."""
    if not -(2**53) <= value < 2**53:
        return False
    if value == int(value):
        return True
    return value >= 1 and (value - int(value)) / (value + int(value)) < 1e-9


def validate_string(value: str, node: Structure, path: Path, errors: Violations) -> None:
    schema = node.schema
    most, least = schema.get("maxLength"), schema.get("minLength")
    if most is not None and len(value) > most:
        errors.add(SchemaViolation(violations.MAX_LENGTH, path, value, node, most))
    elif least is not None and len(value) < least:
        errors.add(SchemaViolation(violations.MIN_LENGTH, path, value, node, least))
    elif node.pattern and not errors.cost.matches(node.pattern, value):
        errors.add(SchemaViolation(violations.PATTERN, path, value, node, schema["pattern"]))
    if node.format_check and not node.format_check(value):
        errors.add(SchemaViolation(violations.FORMAT, path, value, node, schema["format"]))


def validate_number(value: float, node: Structure, path: Path, errors: Violations) -> None:
    """Bounds of integers are read as integers, even if written as floats."""
    schema, native = node.schema, int if value.__class__ is int else float
    if (factor := schema.get("multipleOf")) is not None:
        _validate_multiple(value, native(factor), node, path, errors)
    if (least := schema.get("minimum")) is not None:
        least = native(least)
        if value < least or (schema.get("exclusiveMinimum") and value == least):
            errors.add(SchemaViolation(violations.MINIMUM, path, value, node, least))
    if (most := schema.get("maximum")) is not None:
        most = native(most)
        if value > most or (schema.get("exclusiveMaximum") and value == most):
            errors.add(SchemaViolation(violations.MAXIMUM, path, value, node, most))


def _validate_multiple(value: float, factor: float, node: Structure, path: Path, errors: Violations) -> None:
    if factor <= 0:
        errors.add(SchemaViolation(violations.INVALID_FACTOR, path, value, node, factor))
        return
    if value.__class__ is int:
        multiple = value % factor == 0
    else:
        multiple = is_integral(1 / factor * value if factor < 1 else value / factor)
    if not multiple:
        errors.add(SchemaViolation(violations.MULTIPLE_OF, path, value, node, factor))


def validate_enum(value: Any, node: Structure, path: Path, errors: Violations) -> None:
    if node.enum is not None and not _is_allowed(value, node, errors):
        errors.add(SchemaViolation(violations.ENUM, path, value, node, node.enum))


def _is_allowed(value: Any, node: Structure, errors: Violations) -> bool:
    allowed = node.allowed_values()
    if value.__class__ is str:
        return value in allowed.strings
    if value.__class__ is int or value.__class__ is float:
        return _is_allowed_number(value, allowed)
    if value is None or value.__class__ is bool:
        return value is not None and value in allowed.flags
    errors.cost.add_steps(len(allowed.others))
    return value in allowed.others


def _is_allowed_number(value: float, allowed: AllowedValues) -> bool:
    """Numbers are converted to the type of the allowed value, even if that truncates them."""
    try:
        return (math.isfinite(value) and int(value) in allowed.integers) or float(value) in allowed.floats
    except OverflowError:  # an integer that is no float
        return value in allowed.integers
