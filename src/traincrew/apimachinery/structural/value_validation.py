"""Validation of values by a structural schema, with the peculiarities of the API server's validator.

Formats of numbers are not validated (`int32` bounds nothing). A list is accepted for a string that has a format. A number with a
zero fraction is accepted for an integer. Integers beyond 64 bits are floats.
"""

from __future__ import annotations

import json
import math
from typing import Any

from traincrew.apimachinery import json_equality
from traincrew.apimachinery.structural import violations
from traincrew.apimachinery.structural.schemas import NOTHING, AllowedValues, Structure
from traincrew.apimachinery.structural.validation_cost import LimitExceeded, ValidationCost
from traincrew.apimachinery.structural.violations import Path, SchemaViolation, Violations

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def validate(value: Any, node: Structure, path: Path = (), old: Any = NOTHING) -> list[SchemaViolation]:
    """All violations, up to a limit. Those of a part that equals its old value are ignored (ratcheting)."""
    errors = Violations(ValidationCost())
    try:
        _validate(value, node, path, errors, old)
    except LimitExceeded as exceeded:
        return [*errors, SchemaViolation(violations.UNFINISHED, path, None, node, str(exceeded))]
    return errors


def json_type(value: Any) -> str:
    """The JSON type as the API server sees it."""
    if value is None:
        return "null"
    if value.__class__ is int and not -(2**63) <= value < 2**63:
        return "number"
    return _TYPES[value.__class__]


def is_integral(value: float) -> bool:
    """Whether a float is accepted as an integer: exactly, or within the precision of the API server."""
    if not -(2**53) <= value < 2**53:
        return False
    if value == int(value):
        return True
    return value >= 1 and (value - int(value)) / (value + int(value)) < 1e-9


def _validate(value: Any, node: Structure, path: Path, errors: Violations, old: Any) -> int:
    """Returns a score of the valid parts, by which the best of several schemas is chosen."""
    before, score = len(errors), 1
    if errors.tried:
        errors.cost.add_steps(1 + len(value) if value.__class__ is list or value.__class__ is dict else 1)
    if node.types or node.format_check:
        score += 1 + _validate_type(value, node, path, errors)
    if value is None:
        _validate_enum(value, node, path, errors)
        return score
    score += 2
    if node.combined:
        score += _validate_combined(value, node, path, errors)
    if value.__class__ is str:
        _validate_string(value, node, path, errors)
    elif value.__class__ is int or value.__class__ is float:
        score += 2
        _validate_number(value, node, path, errors)
    elif value.__class__ is list:
        score += 2 + _validate_list(value, node, path, errors, old)
    _validate_enum(value, node, path, errors)
    if value.__class__ is dict:
        score += 1 + _validate_object(value, node, path, errors, old)
    if len(errors) > before and old is not NOTHING and json_equality.deep_equal(old, value):
        del errors[before:]
    return score


def _validate_type(value: Any, node: Structure, path: Path, errors: Violations) -> int:
    expected = node.types
    if value is None:
        if expected and not node.nullable:
            errors.add(SchemaViolation(violations.TYPE, path, value, node))
            return 0
        return 1
    actual = json_type(value)
    if actual in expected:
        return 1
    passes = (actual == "number" and "integer" in expected and is_integral(value)) or (
        actual == "integer" and "number" in expected
    )
    scalar = actual in ("string", "array")
    if node.format_check and not scalar and not passes:
        errors.add(SchemaViolation(violations.FORMAT_TYPE, path, value, node))
        return 0
    if passes or (node.format_check and scalar and not {"number", "integer"} & set(expected)):
        return 1
    errors.add(SchemaViolation(violations.TYPE, path, value, node))
    return 0


def _validate_string(value: str, node: Structure, path: Path, errors: Violations) -> None:
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


def _validate_number(value: float, node: Structure, path: Path, errors: Violations) -> None:
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


def _validate_list(value: list[Any], node: Structure, path: Path, errors: Violations, old: Any) -> int:
    score = 0
    if node.items is not None:
        old_of = node.counterparts(old)
        plain = node.items.plain
        for index, inner in enumerate(value):
            if inner.__class__ is plain:
                score += 5
            else:
                score += _validate(inner, node.items, (*path, index), errors, old_of(inner))
    schema = node.schema
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        errors.add(SchemaViolation(violations.MIN_ITEMS, path, len(value), node, least))
    if most is not None and len(value) > most:
        errors.add(SchemaViolation(violations.MAX_ITEMS, path, len(value), node, most))
    if schema.get("uniqueItems") and len({json.dumps(inner, sort_keys=True) for inner in value}) < len(value):
        errors.add(SchemaViolation(violations.UNIQUE_ITEMS, path, "", node))
    return score


def _validate_object(value: dict[str, Any], node: Structure, path: Path, errors: Violations, old: Any) -> int:
    schema, score = node.schema, 0
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        errors.add(SchemaViolation(violations.MIN_PROPERTIES, path, len(value), node, least))
    if most is not None and len(value) > most:
        errors.add(SchemaViolation(violations.MAX_PROPERTIES, path, len(value), node, most))
    old_fields = old if old.__class__ is dict else {}
    properties, extra = node.properties, node.extra
    for key, inner in value.items():
        child = properties.get(key) or extra
        if child is None or child.trivial:
            continue
        if inner.__class__ is child.plain:
            score += 5
        else:
            score += _validate(inner, child, (*path, key), errors, old_fields.get(key, NOTHING))
    for key in schema.get("required", ()):
        if key not in value:
            errors.add(SchemaViolation(violations.REQUIRED, (*path, key), None, node))
    return score


def _validate_enum(value: Any, node: Structure, path: Path, errors: Violations) -> None:
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


def _validate_combined(value: Any, node: Structure, path: Path, errors: Violations) -> int:
    score = 0
    if node.any_of:
        score += _validate_any(value, node, path, errors)
    if node.one_of:
        score += _validate_one(value, node, path, errors)
    valid = 0
    for each in node.all_of:
        tried_score, tried = _try(value, each, path, errors)
        score += tried_score
        errors.add_all(tried)
        valid += not tried
    if valid != len(node.all_of):
        errors.add(_composite(path, node, f"must validate all the schemas (allOf){'' if valid else '. None validated'}"))
    if node.negated is not None and not _try(value, node.negated, path, errors)[1]:
        errors.add(_composite(path, node, "must not validate the schema (not)"))
    return score


def _try(value: Any, node: Structure, path: Path, errors: Violations) -> tuple[int, Violations]:
    """The score of an alternative, and its violations."""
    tried = Violations(errors.cost, tried=True)
    return _validate(value, node, path, tried, NOTHING), tried


def _validate_any(value: Any, node: Structure, path: Path, errors: Violations) -> int:
    best: tuple[int, Violations] | None = None
    for each in node.any_of:
        tried = _try(value, each, path, errors)
        if not tried[1]:
            return tried[0]
        if best is None or tried[0] > best[0]:
            best = tried
    assert best is not None
    errors.add(_composite(path, node, "must validate at least one schema (anyOf)"))
    errors.add_all(best[1])
    return best[0]


def _validate_one(value: Any, node: Structure, path: Path, errors: Violations) -> int:
    tries = [_try(value, each, path, errors) for each in node.one_of]
    valid = [tried for tried in tries if not tried[1]]
    if len(valid) == 1:
        return valid[0][0]
    outcome = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    errors.add(_composite(path, node, f"must validate one and only one schema (oneOf). {outcome}"))
    if valid:
        return 0
    best = max(tries, key=lambda tried: tried[0])
    errors.add_all(best[1])
    return best[0]


def _composite(path: Path, node: Structure, text: str) -> SchemaViolation:
    return SchemaViolation(violations.COMPOSITE, path, None, node, text)
