"""Owned fields follow a schema that has changed since."""

from __future__ import annotations

from traincrew.apimachinery.patches import field_sets, typed_schemas
from traincrew.apimachinery.patches.field_sets import FIELD, Fields
from traincrew.apimachinery.patches.managed_fields import Managers, WriteContext
from traincrew.apimachinery.patches.typed_schemas import LIST, MAP, TypeDef
from traincrew.apimachinery.resource_info import Schema


def reconcile(known: Managers, schema: Schema, writer: WriteContext) -> Managers:
    """Whoever owned a part of what is owned as a whole now owns the whole."""
    found: Managers = {}
    for owner, share in known.items():
        told = schema if writer.versions is None else writer.versions.get(share.version)
        if told is not None:
            found[owner] = share.owning(_reconcile_fields(share.fields, typed_schemas.type_of(told)))
    return found


def _reconcile_fields(fields: Fields, shape: TypeDef) -> Fields:
    changed = {}
    for key, node in fields.items():
        below = _child(shape, key) if node else None
        if below is not None and (now := _reconcile_node(node, below)) is not node:
            changed[key] = now
    return {**fields, **changed} if changed else fields


def _reconcile_node(node: Fields, shape: TypeDef) -> Fields:
    if MAP in shape.kinds:
        if shape.undeclared:
            return node
        return FIELD if shape.atomic_map else _reconcile_fields(node, shape)
    if LIST in shape.kinds:
        return FIELD if shape.atomic_list else _reconcile_fields(node, shape)
    return node


def _child(shape: TypeDef, key: str) -> TypeDef | None:
    if key == field_sets.SELF:
        return None
    if MAP in shape.kinds:
        return shape.field(key[2:]) if key[0] == "f" else None
    return shape.items if LIST in shape.kinds else None
