"""The rules of structural schemas, with the messages of kube-apiserver."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from traincrew.apimachinery import field_errors, go_format
from traincrew.apimachinery.field_errors import FieldError, FieldErrors
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.structural import pruning, schemas
from traincrew.apimachinery.structural.schemas import EMBEDDED, PRESERVE, VALIDATIONS, Structure
from traincrew.embedded.apiserver.schema import embedded_resources, pattern_validation, value_validation

_INT_OR_STRING = "x-kubernetes-int-or-string"
_ALTERNATIVES = [{"type": "integer"}, {"type": "string"}]
_LEVELS = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
_COMBINED = ("anyOf", "allOf", "oneOf")
_NOT_NESTED = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    PRESERVE: "must be false to be structural",
    EMBEDDED: "must be false to be structural",
    _INT_OR_STRING: "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    VALIDATIONS: "must be empty to be structural",
}


def check(schema: Schema, path: str) -> list[FieldError]:
    """All errors of a schema's structure; if there are none, those of its defaults."""
    checks = (_invariants(schema, "root", path), _combined(schema, schema, path, path), pattern_validation.check(schema, path))
    errors = FieldErrors(itertools.chain(*checks))
    if errors:
        return sorted(errors, key=str)
    has_defaults = b'"default":' in msgspec.json.encode(schema)
    return FieldErrors(_defaults(schemas.Structure(schema), path)) if has_defaults else []


def _invariants(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    if schema.get("type") == "array" and "items" not in schema:
        yield field_errors.required(f"{path}.items", "must be specified")
    if isinstance(schema.get("items"), dict):
        yield from _invariants(schema["items"], "item", f"{path}.items")
    for key, inner in (schema.get("properties") or {}).items():
        yield from _invariants(inner, "field", f"{path}.properties[{key}]")
    extra = schema.get("additionalProperties")
    if extra is not None:
        if level == "root":
            yield field_errors.forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(extra, dict):
            yield from _invariants(extra, "field", f"{path}.additionalProperties")
    yield from _extensions(schema, path)
    yield from _validations(schema, path)
    yield from _type(schema, level, path)
    yield from _meta(schema, level, path)


def _extensions(schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.get(_INT_OR_STRING):
        for keyword in (PRESERVE, EMBEDDED):
            if schema.get(keyword):
                yield field_errors.invalid(f"{path}.{keyword}", True, f"must be false if {_INT_OR_STRING} is true")


def _validations(schema: Schema, path: str) -> Iterator[FieldError]:
    """Combined schemas may only restrict, except for the two ways to write an int-or-string."""
    for keyword in _COMBINED:
        for index, inner in enumerate(schema.get(keyword) or ()):
            if keyword == "anyOf" and schema["anyOf"] == _ALTERNATIVES:
                continue
            first = keyword == "allOf" and index == 0 and inner.get("anyOf") == _ALTERNATIVES
            yield from _nested({**inner, "anyOf": []} if first else inner, f"{path}.{keyword}[{index}]")
    if "not" in schema:
        yield from _nested(schema["not"], f"{path}.not")


def _nested(schema: Schema, path: str) -> Iterator[FieldError]:
    yield from _validations(schema, path)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    for key, inner in (schema.get("properties") or {}).items():
        yield from _nested(inner, f"{path}.properties[{key}]")
    for keyword, message in _NOT_NESTED.items():
        if schema.get(keyword):
            yield field_errors.forbidden(f"{path}.{keyword}", message)
    if "metadata" in (schema.get("properties") or {}):
        yield field_errors.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _type(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    kind, embedded = schema.get("type", ""), schema.get(EMBEDDED)
    if embedded and kind != "object":
        message = f"must be object if {EMBEDDED} is true"
        yield field_errors.invalid(f"{path}.type", kind, message) if kind else field_errors.required(f"{path}.type", message)
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(PRESERVE):
        yield field_errors.required(f"{path}.type", f"must not be empty {_LEVELS[level]}")
    if embedded and "additionalProperties" in schema:
        yield field_errors.forbidden(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    if level == "root" and kind not in ("", "object"):
        yield field_errors.invalid(f"{path}.type", kind, "must be object at the root")
    if embedded and not schema.get(PRESERVE) and not schema.get("properties"):
        yield field_errors.required(f"{path}.properties", f"must not be empty if {EMBEDDED} is true without {PRESERVE}")


def _meta(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    properties = schema.get("properties") or {}
    is_object = level == "root" or bool(schema.get(EMBEDDED))
    for key, expected in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if key in properties and is_object and properties[key].get("type", "") != expected:
            type_path = f"{path}.properties[{key}].type"
            yield field_errors.invalid(type_path, properties[key].get("type", ""), f"must be {expected}")
    if "metadata" in properties and level == "root":
        rest = {key: value for key, value in properties["metadata"].items() if key not in ("type", "default") and value}
        if set(rest.pop("properties", {})) - {"name", "generateName"} or rest:
            message = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield field_errors.forbidden(f"{path}.properties[metadata]", message)


def _combined(part: Schema, parent: Schema, path: str, parent_path: str) -> Iterator[FieldError]:
    """A field that a combined schema restricts must be declared; only combined schemas at the root are checked."""
    combined = [
        (f"{parent_path}.{keyword}[{index}]", each) for keyword in _COMBINED for index, each in enumerate(part.get(keyword) or ())
    ]
    combined += [(f"{parent_path}.not", part["not"])] if "not" in part else []
    for where, inner in combined:
        yield from _restricted(inner, parent, path, where)


def _restricted(part: Schema, parent: Schema | None, path: str, parent_path: str) -> Iterator[FieldError]:
    if parent is None:
        yield field_errors.required(path, f"because it is defined in {parent_path}")
        return
    yield from _combined(part, parent, path, parent_path)
    if isinstance(part.get("items"), dict):
        yield from _restricted(part["items"], parent.get("items"), f"{path}.items", f"{parent_path}.items")
    known = parent.get("properties") or {}
    for key, inner in (part.get("properties") or {}).items():
        yield from _restricted(inner, known.get(key), f"{path}.properties[{key}]", f"{parent_path}.properties[{key}]")


def _defaults(node: Structure, path: str, root: bool = True) -> Iterator[FieldError]:
    """A default must be valid and must not contain fields that would be pruned."""
    if node.default is not None:
        yield from _default_errors(node.default, node, f"{path}.default")
    if node.items is not None:
        yield from _defaults(node.items, f"{path}.items", root=False)
    for key, inner in node.properties.items():
        if not (root and key in ("metadata", "apiVersion", "kind")):
            yield from _defaults(inner, f"{path}.properties[{key}]", root=False)


def _default_errors(value: Any, node: Structure, path: str) -> Iterator[FieldError]:
    pruned = copy.deepcopy(value)
    if pruning.prune(pruned, node):
        message = f"Invalid value: {go_format.field_value(value)}: must not have unknown fields"
        yield FieldError(field_errors.INVALID, path, message)
    embedded = embedded_resources.check(value, node, path)
    if embedded:
        yield from embedded
        return
    for error in value_validation.check(value, node):
        fault_path = path if error.path == "<nil>" else f"{path}.{error.path}"
        yield FieldError(error.reason, fault_path, error.message)
