"""Coercion of decoded custom resources: metadata is typed, unknown fields are pruned, superfluous nulls are dropped."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.structural import pruning, schemas
from traincrew.apimachinery.structural.schemas import Structure
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import builtin_kinds, json_tree, typed_decoding, typed_decoding_errors

_MAY_BE_INTEGRAL = re.compile(rb"[0-9](?:\.0[],}]|e)")
_EXPONENTIAL = 1e21
"""Go writes larger numbers with an exponent."""


def coerce(obj: Object, schema: Schema) -> list[str]:
    """Changes the object in place. Returns the messages about unknown fields, in the order of kube-apiserver."""
    unknown: list[str] = []
    if "metadata" in obj:
        unknown += _metadata(obj, "metadata")
    root = schemas.of(schema)
    pruned = pruning.prune(obj, root)
    pruning.drop_nulls(obj, root)
    embedded: list[str] = []
    for key, value in obj.items():
        if root.has_embedded and key not in pruning.META_FIELDS and (node := root.child(key)) is not None:
            _coerce_embedded(value, node, key, embedded)
    return [f'unknown field "{path}"' for path in (*unknown, *sorted(pruned), *sorted(embedded))]


def _metadata(parent: Object, path: str) -> list[str]:
    """The typed form of an object's metadata. Raises TypedDecodeError."""
    schema = builtin_kinds.load().linked(builtin_kinds.OBJECT_META)
    value, messages = parent["metadata"], list[str]()
    struct = typed_decoding.struct(schema)
    try:
        read = struct.read(value)
    except typed_decoding.Irregular:
        slow = typed_decoding_errors.TypedDecoder(json_tree.from_value(value), schema, "v1.ObjectMeta")
        messages = [f"{path}.{error}" for error in slow.paths]
        read = struct.read(slow.value or {})
    parent["metadata"] = (
        {} if read is typed_decoding.ABSENT else {key: inner for key, inner in read.items() if _written(key, inner)}
    )
    return messages


def _written(key: str, value: Any) -> bool:
    """Go omits empty values, except for pointers."""
    return bool(value) or key == "deletionGracePeriodSeconds"


def integral_floats_to_integers(obj: Object) -> None:
    """Converts floats without a fraction to integers, in place. Validation has seen the floats."""
    if _MAY_BE_INTEGRAL.search(msgspec.json.encode(obj)):
        _floats_to_integers(obj)


def _floats_to_integers(value: Any) -> None:
    for key, inner in value.items() if value.__class__ is dict else enumerate(value):
        if inner.__class__ is float:
            if inner.is_integer() and abs(inner) < _EXPONENTIAL:
                value[key] = int(inner)
        elif inner.__class__ is dict or inner.__class__ is list:
            _floats_to_integers(inner)


def _coerce_embedded(value: Any, node: Structure, path: str, unknown: list[str]) -> None:
    if value.__class__ is dict:
        if node.embedded:
            _coerce_type_meta(value, path, unknown)
        for key, inner in value.items():
            child = node.child(key)
            if child is not None and child.has_embedded and (inner.__class__ is dict or inner.__class__ is list):
                _coerce_embedded(inner, child, f"{path}.{key}" if key in node.properties else f"{path}[{key}]", unknown)
    elif value.__class__ is list and node.items is not None:
        for index, inner in enumerate(value):
            _coerce_embedded(inner, node.items, f"{path}[{index}]", unknown)


def _coerce_type_meta(value: Object, path: str, unknown: list[str]) -> None:
    for key in ("apiVersion", "kind"):
        if key in value and not isinstance(value[key], str):
            raise typed_decoding_errors.TypedDecodeError(f"{path}.{key}: Invalid value: {value[key]!r}: must be a string")
    if "metadata" in value:
        try:
            unknown += _metadata(value, f"{path}.metadata")
        except typed_decoding_errors.TypedDecodeError as error:
            raise typed_decoding_errors.TypedDecodeError(
                f"{path}.metadata: Invalid value: {value['metadata']!r}: {error}"
            ) from None
