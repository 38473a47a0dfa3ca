"""Adapts managed fields to a changed schema."""

from __future__ import annotations

from traincrew.apimachinery.patches import field_sets, typed_schemas
from traincrew.apimachinery.patches.field_sets import FIELD, Fields
from traincrew.apimachinery.patches.managed_fields import ManagedFieldsContext, Managers
from traincrew.apimachinery.patches.typed_schemas import LIST, MAP, TypeDef
from traincrew.apimachinery.resource_info import Schema


def reconcile(managers: Managers, schema: Schema, context: ManagedFieldsContext) -> Managers:
    """A manager of a part of a value that is atomic now manages the whole value."""
    reconciled: Managers = {}
    for manager, versioned_set in managers.items():
        version_schema = schema if context.versions is None else context.versions.get(versioned_set.version)
        if version_schema is not None:
            reconciled[manager] = versioned_set.with_fields(
                _reconcile_fields(versioned_set.fields, typed_schemas.type_of(version_schema))
            )
    return reconciled


def _reconcile_fields(fields: Fields, type_def: TypeDef) -> Fields:
    changed = {}
    for key, node in fields.items():
        below = _child(type_def, key) if node else None
        if below is not None and (now := _reconcile_node(node, below)) is not node:
            changed[key] = now
    return {**fields, **changed} if changed else fields


def _reconcile_node(node: Fields, type_def: TypeDef) -> Fields:
    if MAP in type_def.kinds:
        if type_def.undeclared:
            return node
        return FIELD if type_def.atomic_map else _reconcile_fields(node, type_def)
    if LIST in type_def.kinds:
        return FIELD if type_def.atomic_list else _reconcile_fields(node, type_def)
    return node


def _child(type_def: TypeDef, key: str) -> TypeDef | None:
    if key == field_sets.SELF:
        return None
    if MAP in type_def.kinds:
        return type_def.field(key[2:]) if key[0] == "f" else None
    return type_def.items if LIST in type_def.kinds else None
