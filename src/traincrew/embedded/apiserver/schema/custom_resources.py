"""Custom resources: defaulting and validation, with the messages of kube-apiserver."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Object, ResourceInfo, Schema
from traincrew.embedded.apiserver.schema import (
    cel,
    coercion,
    embedded_resources,
    list_uniqueness,
    scale_paths,
    structural_schemas,
    value_validation,
)
from traincrew.embedded.apiserver.schema.structural_schemas import NOTHING, Structure

_BLOCKING = (
    field_errors.NOT_SUPPORTED,
    field_errors.REQUIRED,
    field_errors.TOO_LONG,
    field_errors.TOO_MANY,
    field_errors.TYPE_INVALID,
)
"""After such errors no rule is evaluated, because it might read unexpected types."""
_UNCHECKED = FieldError(
    field_errors.INVALID,
    "<nil>",
    'Invalid value: "null": some validation rules were not checked because the object was invalid; '
    "correct the existing errors to complete validation",
)


def prune_and_default(obj: Object, schema: Schema) -> None:
    """Prunes and defaults a stored object in place."""
    coercion.coerce(obj, schema)
    default(obj, schema)


def default(obj: Object, schema: Schema) -> None:
    """Sets the defaults of the schema in place."""
    node = structural_schemas.of(schema)
    if node.has_defaults:
        _default(obj, node)


def _default(value: Any, node: Structure) -> None:
    if value.__class__ is dict:
        for key, child in node.defaults.items():
            if key not in value or (value[key] is None and not child.nullable):
                value[key] = copy.deepcopy(child.default)
        for key, inner in value.items():
            child_node = node.child(key)
            if child_node is None or not (child_node.has_defaults or inner is None):
                continue
            if inner is None and key not in node.properties and not child_node.nullable:
                value[key] = copy.deepcopy(child_node.default)
            _default(value[key], child_node)
    elif value.__class__ is list and node.items is not None:
        for index, inner in enumerate(value):
            if inner is None and not node.items.nullable:
                value[index] = copy.deepcopy(node.items.default)
            _default(value[index], node.items)


def validate(obj: Object, info: ResourceInfo, before: Sequence[FieldError] = ()) -> list[FieldError]:
    """All errors of a new object. `before` are the errors of its metadata: they come first and may block the rules."""
    node = structural_schemas.of(info.schema)
    errors = [*before, *value_validation.check(obj, node), *scale_paths.check(obj, info)]
    errors += embedded_resources.check(obj, node)
    errors += list_uniqueness.check(obj, node)
    return _with_rules(errors, obj, node, NOTHING)


def validate_update(new: Object, old: Object, info: ResourceInfo, before: Sequence[FieldError] = ()) -> list[FieldError]:
    """All errors of a changed object. Errors of unchanged parts are ignored (ratcheting)."""
    node = structural_schemas.of(info.schema)
    errors = [*before, *value_validation.check(new, node, "", old), *scale_paths.check(new, info)]
    errors += embedded_resources.check(new, node)
    if node.has_lists and not list_uniqueness.check(old, node):
        errors += list_uniqueness.check(new, node)
    return _with_rules(errors, new, node, old)


def validate_status(new: Object, old: Object, info: ResourceInfo, before: Sequence[FieldError] = ()) -> list[FieldError]:
    """All errors of a changed status: only the schema of the status applies, but all rules."""
    node = structural_schemas.of(info.schema)
    errors = list(before)
    part = node.properties.get("status")
    if part is not None and "status" in new:
        errors += map(_in_status, value_validation.check(new["status"], part, "", old.get("status", NOTHING)))
    errors += scale_paths.check_status(new, info)
    if node.has_lists and not list_uniqueness.check(old, node):
        errors += list_uniqueness.check(new, node)
    return _with_rules(errors, new, node, old)


def _in_status(error: FieldError) -> FieldError:
    """The message names the path within the status, the field the path within the object."""
    path = "status" if error.path == value_validation.ROOT else f"status.{error.path}"
    return FieldError(error.reason, path, error.message)


def _with_rules(errors: list[FieldError], obj: Object, node: Structure, old: Any) -> list[FieldError]:
    if not node.has_rules:
        return errors
    if any(error.reason in _BLOCKING for error in errors):
        return [*errors, _UNCHECKED]
    return errors + cel.check(obj, node, "", old)


def unenforced_rules(schema: Schema) -> list[str]:
    """The validation rules that are not enforced, each with the reason."""
    node = structural_schemas.of(schema)
    told = list(cel.compile_errors(node)) if node.has_rules else []
    structural_schemas.forget(schema)  # called for definitions as they are written; the served schema is another copy
    return told
