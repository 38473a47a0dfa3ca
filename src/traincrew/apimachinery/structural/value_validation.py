"""Validation of values by a structural schema, with the peculiarities of the API server's validator.

Formats of numbers are not validated (`int32` bounds nothing). A list is accepted for a string that has a format. A number with a
zero fraction is accepted for an integer. Integers beyond 64 bits are floats.
"""

from __future__ import annotations

import json
from typing import Any

from traincrew.apimachinery import json_equality
from traincrew.apimachinery.structural import violations
from traincrew.apimachinery.structural.scalar_validation import is_integral, validate_enum, validate_number, validate_string
from traincrew.apimachinery.structural.schemas import NOTHING, Structure
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


def _validate(value: Any, node: Structure, path: Path, errors: Violations, old: Any) -> int:
    """Returns a score of the valid parts, by which the best of several schemas is chosen."""
    before, score = len(errors), 1
    if errors.tried:
        errors.cost.add_steps(1 + len(value) if value.__class__ is list or value.__class__ is dict else 1)
    if node.types or node.format_check:
        score += 1 + _validate_type(value, node, path, errors)
    if value is None:
        validate_enum(value, node, path, errors)
        return score
    score += 2
    if node.combined:
        score += _validate_combined(value, node, path, errors)
    if value.__class__ is str:
        validate_string(value, node, path, errors)
    elif value.__class__ is int or value.__class__ is float:
        score += 2
        validate_number(value, node, path, errors)
    elif value.__class__ is list:
        score += 2 + _validate_list(value, node, path, errors, old)
    validate_enum(value, node, path, errors)
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
