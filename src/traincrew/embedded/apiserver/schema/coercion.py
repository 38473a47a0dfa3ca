"""What an API server does to a custom resource as it reads it: metadata typed, unknown fields pruned, idle nulls dropped."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from traincrew.apimachinery.resource_info import Object, Schema
from traincrew.embedded.apiserver.schema import (
    builtin_kinds,
    json_tree,
    structural_schemas,
    typed_decoding,
    typed_decoding_errors,
)
from traincrew.embedded.apiserver.schema.structural_schemas import Structure

_META_FIELDS = ("apiVersion", "kind", "metadata")
_PERHAPS_WHOLE = re.compile(rb"[0-9](?:\.0[],}]|e)")
_EXPONENTIAL = 1e21
"""From here on Go writes numbers with an exponent."""


def coerce(obj: Object, schema: Schema) -> list[str]:
    """Changes the object in place. Returns what is to be told of unknown fields, in the API server's order."""
    unknown: list[str] = []
    if "metadata" in obj:
        unknown += _metadata(obj, "metadata")
    root = structural_schemas.of(schema)
    pruned: list[str] = []
    _prune(obj, root, "", pruned)
    _drop_nulls(obj, root)
    embedded: list[str] = []
    for key, value in obj.items():
        if root.has_embedded and key not in _META_FIELDS and (node := root.child(key)) is not None:
            _coerce_embedded(value, node, key, embedded)
    return [f'unknown field "{path}"' for path in (*unknown, *sorted(pruned), *sorted(embedded))]


def _metadata(holder: Object, path: str) -> list[str]:
    """The typed form of an object's metadata. Raises faults.Unreadable."""
    schema = builtin_kinds.load().linked(builtin_kinds.OBJECT_META)
    value, told = holder["metadata"], list[str]()
    struct = typed_decoding.struct(schema)
    try:
        read = struct.read(value)
    except typed_decoding.Irregular:
        slow = typed_decoding_errors.TypedDecoder(json_tree.from_value(value), schema, "v1.ObjectMeta")
        told = [f"{path}.{fault}" for fault in slow.paths]
        read = struct.read(slow.value or {})
    holder["metadata"] = (
        {} if read is typed_decoding.ABSENT else {key: inner for key, inner in read.items() if _written(key, inner)}
    )
    return told


def _written(key: str, value: Any) -> bool:
    """Go leaves out what is empty, but for what it points to."""
    return bool(value) or key == "deletionGracePeriodSeconds"


def prune(value: Any, node: Structure) -> list[str]:
    """Drops what the schema does not know, and tells the paths."""
    pruned: list[str] = []
    _prune(value, node, "", pruned)
    return pruned


def _prune(value: Any, node: Structure | None, path: str, pruned: list[str]) -> None:
    if node is not None and node.preserve:
        _prune_below(value, node, path, pruned)
    elif value.__class__ is dict:
        _prune_object(value, node, path, pruned)
    elif value.__class__ is list:
        for index, inner in enumerate(value):
            if inner.__class__ is dict or inner.__class__ is list:
                _prune(inner, node.items if node is not None else None, f"{path}[{index}]", pruned)


def _prune_object(value: Object, node: Structure | None, path: str, pruned: list[str]) -> None:
    kept = _META_FIELDS if not path or (node is not None and node.embedded) else ()
    properties, extra = (node.properties, node.extra) if node is not None else ({}, None)
    dropped = []
    for key, inner in value.items():
        child = properties.get(key) or extra
        if key in kept:
            continue
        if child is None:
            dropped.append(key)
        elif inner.__class__ is dict or inner.__class__ is list:
            _prune(inner, child, f"{path}.{key}" if path else key, pruned)
    for key in dropped:
        pruned.append(f"{path}.{key}" if path else key)
        del value[key]


def _prune_below(value: Any, node: Structure, path: str, pruned: list[str]) -> None:
    """Here unknown fields are kept; what is known may still know its own."""
    if value.__class__ is dict:
        for key, inner in value.items():
            if inner.__class__ is not dict and inner.__class__ is not list:
                continue
            child = node.child(key)
            if child is not None and not (node.embedded and key in _META_FIELDS):
                _prune(inner, child, f"{path}.{key}" if path else key, pruned)
    elif value.__class__ is list and node.items is not None:
        for index, inner in enumerate(value):
            _prune_below(inner, node.items, f"{path}[{index}]", pruned)


def _drop_nulls(value: Any, node: Structure | None) -> None:
    """Nulls in lists stay, and so do those that a default is to replace."""
    if node is None:
        return
    if value.__class__ is dict:
        dropped = []
        for key, inner in value.items():
            if inner is None:
                child = node.child(key)
                if child is not None and not child.nullable and child.default is None:
                    dropped.append(key)
            elif inner.__class__ is dict or inner.__class__ is list:
                _drop_nulls(inner, node.child(key))
        for key in dropped:
            del value[key]
    elif value.__class__ is list and node.items is not None:
        for inner in value:
            _drop_nulls(inner, node.items)


def whole(obj: Object) -> None:
    """Numbers without a fraction become integers, in place: so they are written, though they were judged as they came."""
    if _PERHAPS_WHOLE.search(msgspec.json.encode(obj)):
        _whole(obj)


def _whole(value: Any) -> None:
    for key, inner in value.items() if value.__class__ is dict else enumerate(value):
        if inner.__class__ is float:
            if inner.is_integer() and abs(inner) < _EXPONENTIAL:
                value[key] = int(inner)
        elif inner.__class__ is dict or inner.__class__ is list:
            _whole(inner)


def _coerce_embedded(value: Any, node: Structure, path: str, unknown: list[str]) -> None:
    if value.__class__ is dict:
        if node.embedded:
            _coerce_titles(value, path, unknown)
        for key, inner in value.items():
            child = node.child(key)
            if child is not None and child.has_embedded and (inner.__class__ is dict or inner.__class__ is list):
                _coerce_embedded(inner, child, f"{path}.{key}" if key in node.properties else f"{path}[{key}]", unknown)
    elif value.__class__ is list and node.items is not None:
        for index, inner in enumerate(value):
            _coerce_embedded(inner, node.items, f"{path}[{index}]", unknown)


def _coerce_titles(value: Object, path: str, unknown: list[str]) -> None:
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
