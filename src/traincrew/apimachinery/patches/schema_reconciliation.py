"""Owned fields follow a schema that has changed since."""

from __future__ import annotations

from traincrew.apimachinery.patches import field_sets, merge_shapes
from traincrew.apimachinery.patches.field_sets import FIELD, Fields
from traincrew.apimachinery.patches.managed_fields import Owners, Writer
from traincrew.apimachinery.patches.merge_shapes import LIST, MAP, Shape
from traincrew.apimachinery.resource_info import Schema


def reconciled(known: Owners, schema: Schema, writer: Writer) -> Owners:
    """Whoever owned a part of what is owned as a whole now owns the whole."""
    found: Owners = {}
    for owner, share in known.items():
        told = schema if writer.versions is None else writer.versions.get(share.version)
        if told is not None:
            found[owner] = share.owning(_fields(share.fields, merge_shapes.of(told)))
    return found


def _fields(fields: Fields, shape: Shape) -> Fields:
    changed = {}
    for key, node in fields.items():
        below = _child(shape, key) if node else None
        if below is not None and (now := _node(node, below)) is not node:
            changed[key] = now
    return {**fields, **changed} if changed else fields


def _node(node: Fields, shape: Shape) -> Fields:
    if MAP in shape.kinds:
        if shape.undeclared:
            return node
        return FIELD if shape.atomic_map else _fields(node, shape)
    if LIST in shape.kinds:
        return FIELD if shape.atomic_list else _fields(node, shape)
    return node


def _child(shape: Shape, key: str) -> Shape | None:
    if key == field_sets.SELF:
        return None
    if MAP in shape.kinds:
        return shape.field(key[2:]) if key[0] == "f" else None
    return shape.items if LIST in shape.kinds else None
