"""An API server's verdict on a value by its schema, in the words and with the peculiarities of its validator."""

from __future__ import annotations

import json
from typing import Any

from traincrew.apimachinery import field_errors, go_format, json_equality
from traincrew.apimachinery.field_errors import FieldError
from traincrew.embedded.apiserver.schema.structural_schemas import NOTHING, Structure
from traincrew.validation import schema_validation

_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
ROOT = "<nil>"
"""The field of a fault of the whole."""
_NATIVE = {int: "int64", float: "float64"}


def check(value: Any, node: Structure, path: str = "", old: Any = NOTHING) -> list[FieldError]:
    """Every fault. Where a part equals what it was before, its faults are forgiven."""
    errors: list[FieldError] = []
    _check(value, node, path, errors, old)
    return list({error.message + error.path: error for error in errors}.values()) if len(errors) > 1 else errors


def _check(value: Any, node: Structure, path: str, errors: list[FieldError], old: Any) -> int:
    """Appends the faults. Returns how much was found right, by which the best of several schemas is chosen."""
    before, right = len(errors), 1
    if node.types or node.format_check:
        right += 1 + _check_type(value, node, path, errors)
    if value is None:
        if node.enum is not None:
            _check_enum(value, node.enum, path, errors)
        return right
    right += 2
    if node.combined:
        right += _check_combined(value, node, path, errors)
    if value.__class__ is str:
        _check_text(value, node, path, errors)
    elif value.__class__ is int or value.__class__ is float:
        right += 2
        _check_number(value, node.schema, path, errors)
    elif value.__class__ is list:
        right += 2 + _check_list(value, node, path, errors, old)
    if node.enum is not None:
        _check_enum(value, node.enum, path, errors)
    if value.__class__ is dict:
        right += 1 + _check_object(value, node, path, errors, old)
    if len(errors) > before and old is not NOTHING and json_equality.deep_equal(old, value):
        del errors[before:]
    return right


def _invalid(path: str, value: Any, words: str) -> FieldError:
    return FieldError(
        field_errors.INVALID, _field(path), f"Invalid value: {go_format.field_value(value)}: {path} in body {words}"
    )


def _wrong_type(path: str, expected: str, found: str) -> FieldError:
    quoted = go_format.quote(found)
    told = f"Invalid value: {quoted}: {path} in body must be of type {expected}: {quoted}"
    return FieldError(field_errors.TYPE_INVALID, _field(path), told)


def _field(path: str) -> str:
    return path.removeprefix(".") or ROOT


def _check_type(value: Any, node: Structure, path: str, errors: list[FieldError]) -> int:
    wanted = node.types
    if value is None:
        if wanted and not node.nullable:
            errors.append(_wrong_type(path, ",".join(wanted), "null"))
            return 0
        return 1
    kind = _KINDS[value.__class__]
    if kind in wanted:
        return 1
    passes = (kind == "number" and "integer" in wanted and schema_validation.is_whole(value)) or (
        kind == "integer" and "number" in wanted
    )
    scalar = kind in ("string", "array")
    if node.format_check and not scalar and not passes:
        errors.append(_wrong_type(path, node.schema["format"], _NATIVE.get(value.__class__, "")))
        return 0
    if passes or (node.format_check and scalar and not {"number", "integer"} & set(wanted)):
        return 1
    errors.append(_wrong_type(path, ",".join(wanted), kind))
    return 0


def _check_text(value: str, node: Structure, path: str, errors: list[FieldError]) -> None:
    schema = node.schema
    most, least = schema.get("maxLength"), schema.get("minLength")
    if most is not None and len(value) > most:
        errors.append(field_errors.too_long(_field(path), most))
    elif least is not None and len(value) < least:
        errors.append(_invalid(path, value, f"should be at least {least} chars long"))
    elif node.pattern is not None and not node.pattern.search(value):
        errors.append(_invalid(path, value, f"should match '{schema['pattern']}'"))
    if node.format_check and not node.format_check(value):
        errors.append(_wrong_type(path, schema["format"], value))


def _check_number(value: float, schema: dict[str, Any], path: str, errors: list[FieldError]) -> None:
    """Bounds of integers are taken for integers themselves, whatever they were written as."""
    native = int if value.__class__ is int else float
    if (factor := schema.get("multipleOf")) is not None:
        _check_multiple(value, native(factor), path, errors)
    if (least := schema.get("minimum")) is not None:
        least = native(least)
        if value < least or (schema.get("exclusiveMinimum") and value == least):
            word = "than" if schema.get("exclusiveMinimum") else "than or equal to"
            errors.append(_invalid(path, value, f"should be greater {word} {go_format.plain(least)}"))
    if (most := schema.get("maximum")) is not None:
        most = native(most)
        if value > most or (schema.get("exclusiveMaximum") and value == most):
            word = "than" if schema.get("exclusiveMaximum") else "than or equal to"
            errors.append(_invalid(path, value, f"should be less {word} {go_format.plain(most)}"))


def _check_multiple(value: float, factor: float, path: str, errors: list[FieldError]) -> None:
    if factor <= 0:
        told = f"factor MultipleOf declared for {path} must be positive: {go_format.plain(factor)}"
        errors.append(FieldError(field_errors.INVALID, _field(path), f"Invalid value: {go_format.field_value(factor)}: {told}"))
        return
    if value.__class__ is int:
        whole = value % factor == 0
    else:
        whole = schema_validation.is_whole(1 / factor * value if factor < 1 else value / factor)
    if not whole:
        errors.append(_invalid(path, value, f"should be a multiple of {go_format.plain(factor)}"))


def _check_list(value: list[Any], node: Structure, path: str, errors: list[FieldError], old: Any) -> int:
    right = 0
    if node.items is not None:
        was = node.counterparts(old)
        plain = node.items.plain
        for index, inner in enumerate(value):
            if inner.__class__ is plain:
                right += 5
            else:
                right += _check(inner, node.items, f"{path}[{index}]", errors, was(inner))
    schema = node.schema
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        errors.append(_invalid(path, len(value), f"should have at least {least} items"))
    if most is not None and len(value) > most:
        errors.append(field_errors.too_many(_field(path), len(value), most))
    if schema.get("uniqueItems") and len({json.dumps(inner, sort_keys=True) for inner in value}) < len(value):
        errors.append(_invalid(path, "", "shouldn't contain duplicates"))
    return right


def _check_object(value: dict[str, Any], node: Structure, path: str, errors: list[FieldError], old: Any) -> int:
    schema, right = node.schema, 0
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        errors.append(_invalid(path, len(value), f"should have at least {least} properties"))
    if most is not None and len(value) > most:
        told = f"Too many: {len(value)}: must have at most {most} items"
        errors.append(FieldError(field_errors.TOO_MANY, _field(path), told))
    was = old if old.__class__ is dict else {}
    prefix = f"{path}." if path else ""
    properties, extra = node.properties, node.extra
    for key, inner in value.items():
        child = properties.get(key) or extra
        if child is None or child.trivial:
            continue
        if inner.__class__ is child.plain:
            right += 5
        else:
            right += _check(inner, child, prefix + key, errors, was.get(key, NOTHING))
    for key in schema.get("required", ()):
        if key not in value:
            errors.append(field_errors.required(prefix + key))
    return right


def _check_enum(value: Any, allowed: list[Any], path: str, errors: list[FieldError]) -> None:
    if any(_equal(value, each) for each in allowed):
        return
    known = ", ".join(
        go_format.quote(each if isinstance(each, str) else json.dumps(each, separators=(",", ":"))) for each in allowed
    )
    told = f"Unsupported value: {go_format.field_value(value)}: supported values: {known}"
    errors.append(FieldError(field_errors.NOT_SUPPORTED, _field(path), told))


def _equal(value: Any, allowed: Any) -> bool:
    """Numbers are converted to the type of what is allowed, even if that cuts something off."""
    if isinstance(value, bool) or isinstance(allowed, bool):
        return value is allowed
    if isinstance(value, int | float) and isinstance(allowed, int | float):
        return type(allowed)(value) == allowed
    return bool(value is not None and value == allowed)


def _check_combined(value: Any, node: Structure, path: str, errors: list[FieldError]) -> int:
    right = 0
    quoted = go_format.quote(path)
    if node.any_of:
        right += _check_any(value, node.any_of, path, errors)
    if node.one_of:
        right += _check_one(value, node.one_of, path, errors)
    valid = 0
    for each in node.all_of:
        found: list[FieldError] = []
        right += _check(value, each, path, found, NOTHING)
        errors += found
        valid += not found
    if valid != len(node.all_of):
        errors.append(_composite(f"{quoted} must validate all the schemas (allOf){'' if valid else '. None validated'}"))
    if node.negated is not None:
        found = []
        _check(value, node.negated, path, found, NOTHING)
        if not found:
            errors.append(_composite(f"{quoted} must not validate the schema (not)"))
    return right


def _tried(value: Any, each: Structure, path: str) -> tuple[int, list[FieldError]]:
    found: list[FieldError] = []
    return _check(value, each, path, found, NOTHING), found


def _check_any(value: Any, alternatives: list[Structure], path: str, errors: list[FieldError]) -> int:
    best: tuple[int, list[FieldError]] | None = None
    for each in alternatives:
        tried = _tried(value, each, path)
        if not tried[1]:
            return tried[0]
        if best is None or tried[0] > best[0]:
            best = tried
    assert best is not None
    errors.append(_composite(f"{go_format.quote(path)} must validate at least one schema (anyOf)"))
    errors += best[1]
    return best[0]


def _check_one(value: Any, alternatives: list[Structure], path: str, errors: list[FieldError]) -> int:
    tries = [_tried(value, each, path) for each in alternatives]
    valid = [tried for tried in tries if not tried[1]]
    if len(valid) == 1:
        return valid[0][0]
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    errors.append(_composite(f"{go_format.quote(path)} must validate one and only one schema (oneOf). {found}"))
    if valid:
        return 0
    best = max(tries, key=lambda tried: tried[0])
    errors += best[1]
    return best[0]


def _composite(told: str) -> FieldError:
    return FieldError(field_errors.INVALID, "<nil>", f'Invalid value: "": {told}')
