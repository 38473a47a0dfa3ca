"""Prunes fields that an applier no longer applies and that no other manager manages."""

from __future__ import annotations

from traincrew.apimachinery.patches import apply_merge, field_sets, typed_schemas
from traincrew.apimachinery.patches.apply_merge import with_declared_parents
from traincrew.apimachinery.patches.field_comparison import to_field_set
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import ManagedFieldsContext, Managers, VersionedSet
from traincrew.apimachinery.patches.typed_schemas import TypeDef
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object


def prune(merged: Object, last: VersionedSet | None, managers: Managers, schema: Schema, context: ManagedFieldsContext) -> Object:
    """last: the fields of the applier before; managers: all managers now."""
    type_def = _type_of(last.version, schema, context) if last is not None else None
    if last is None or type_def is None:
        return merged
    owned = with_declared_parents(last.fields, type_def)
    if _needs_no_pruning(owned, managers, type_def):
        return merged
    left = apply_merge.remove_fields(merged, owned, type_def) or {}
    for version, fields in _by_version(managers, last.version).items():
        if fields and (seen := _type_of(version, schema, context)) is not None:
            left = _restore_owned(merged, left, fields, seen)
    return _restore_dangling(merged, left, owned, type_def)


def _needs_no_pruning(owned: Fields, managers: Managers, type_def: TypeDef) -> bool:
    """A quick check: nothing is pruned if one manager of the same version still has all the fields."""
    return any(
        not field_sets.difference(owned, with_declared_parents(versioned_set.fields, type_def))
        for versioned_set in managers.values()
    )


def _by_version(managers: Managers, first: str) -> dict[str, Fields]:
    by_version: dict[str, Fields] = {first: field_sets.EMPTY}
    for versioned_set in managers.values():
        by_version[versioned_set.version] = field_sets.union(
            by_version.get(versioned_set.version, field_sets.EMPTY), versioned_set.fields
        )
    return by_version


def _type_of(version: str, schema: Schema, context: ManagedFieldsContext) -> TypeDef | None:
    version_schema = schema if context.versions is None else context.versions.get(version)
    return None if version_schema is None else typed_schemas.type_of(version_schema)


def _restore_owned(merged: Object, left: Object, fields: Fields, type_def: TypeDef) -> Object:
    """Restores pruned fields that other managers have."""
    merged_fields, left_fields = (
        with_declared_parents(to_field_set(merged, type_def), type_def),
        with_declared_parents(to_field_set(left, type_def), type_def),
    )
    removed = field_sets.difference(merged_fields, field_sets.union(left_fields, with_declared_parents(fields, type_def)))
    return apply_merge.remove_fields(merged, removed, type_def) or {}


def _restore_dangling(merged: Object, left: Object, owned: Fields, type_def: TypeDef) -> Object:
    """Restores fields that were pruned with their parents though the applier did not manage them."""
    merged_fields, left_fields = (
        with_declared_parents(to_field_set(merged, type_def), type_def),
        with_declared_parents(to_field_set(left, type_def), type_def),
    )
    removed = field_sets.intersection(field_sets.difference(merged_fields, left_fields), owned)
    return apply_merge.remove_fields(merged, removed, type_def) or {}
