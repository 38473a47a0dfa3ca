"""Custom resources: defaulting and validation, with the messages of kube-apiserver."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import ResourceInfo, Schema
from traincrew.apimachinery.structural import defaulting, schemas
from traincrew.apimachinery.structural.schemas import NOTHING, Structure
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import (
    cel,
    coercion,
    embedded_resources,
    scale_paths,
    value_validation,
)

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
    """Prunes and defaults a stored object in place. Defaults that are too large are set in part: the object stays readable."""
    coercion.coerce(obj, schema)
    with contextlib.suppress(defaulting.DefaultsTooLarge):
        defaulting.default(obj, schemas.of(schema))


def default(obj: Object, schema: Schema) -> None:
    """Sets the defaults of the schema in place. Raises a 413."""
    try:
        defaulting.default(obj, schemas.of(schema))
    except defaulting.DefaultsTooLarge as error:
        raise api_errors.request_entity_too_large(f"Request entity too large: {error}") from None


def validate(obj: Object, info: ResourceInfo, before: Sequence[FieldError] = ()) -> list[FieldError]:
    """All errors of a new object. `before` are the errors of its metadata: they come first and may block the rules."""
    node = schemas.of(info.schema)
    errors = [*before, *value_validation.check(obj, node), *scale_paths.check(obj, info)]
    errors += embedded_resources.check(obj, node)
    errors += value_validation.check_uniqueness(obj, node)
    return _with_rules(errors, obj, node, NOTHING)


def validate_update(new: Object, old: Object, info: ResourceInfo, before: Sequence[FieldError] = ()) -> list[FieldError]:
    """All errors of a changed object. Errors of unchanged parts are ignored (ratcheting)."""
    node = schemas.of(info.schema)
    errors = [*before, *value_validation.check(new, node, old), *scale_paths.check(new, info)]
    errors += embedded_resources.check(new, node)
    if node.has_lists and not value_validation.check_uniqueness(old, node):
        errors += value_validation.check_uniqueness(new, node)
    return _with_rules(errors, new, node, old)


def validate_status(new: Object, old: Object, info: ResourceInfo, before: Sequence[FieldError] = ()) -> list[FieldError]:
    """All errors of a changed status: only the schema of the status applies, but all rules."""
    node = schemas.of(info.schema)
    errors = list(before)
    part = node.properties.get("status")
    if part is not None and "status" in new:
        errors += map(_in_status, value_validation.check(new["status"], part, old.get("status", NOTHING)))
    errors += scale_paths.check_status(new, info)
    if node.has_lists and not value_validation.check_uniqueness(old, node):
        errors += value_validation.check_uniqueness(new, node)
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
    node = schemas.of(schema)
    messages = list(cel.compile_errors(node)) if node.has_rules else []
    schemas.forget(schema)  # called for definitions as they are written; the served schema is another copy
    return messages
