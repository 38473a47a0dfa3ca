"""What an applier no longer says leaves the object, unless somebody else owns it."""

from __future__ import annotations

from traincrew.apimachinery.patches import apply_merge, field_sets, typed_schemas
from traincrew.apimachinery.patches.apply_merge import with_declared_parents
from traincrew.apimachinery.patches.field_comparison import to_field_set
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import Managers, VersionedSet, WriteContext
from traincrew.apimachinery.patches.typed_schemas import TypeDef
from traincrew.apimachinery.resource_info import Object, Schema


def prune(merged: Object, last: VersionedSet | None, known: Managers, schema: Schema, writer: WriteContext) -> Object:
    """`last` is what the applier owned before, `known` what everybody owns now."""
    shape = _type_of(last.version, schema, writer) if last is not None else None
    if last is None or shape is None:
        return merged
    owned = with_declared_parents(last.fields, shape)
    if _needs_no_pruning(owned, known, shape):
        return merged
    left = apply_merge.remove_fields(merged, owned, shape) or {}
    for version, fields in _by_version(known, last.version).items():
        if fields and (seen := _type_of(version, schema, writer)) is not None:
            left = _restore_owned(merged, left, fields, seen)
    return _restore_dangling(merged, left, owned, shape)


def _needs_no_pruning(owned: Fields, known: Managers, shape: TypeDef) -> bool:
    """Quick: when all that was owned still is by one owner of the same version, pruning takes nothing away."""
    return any(not field_sets.difference(owned, with_declared_parents(share.fields, shape)) for share in known.values())


def _by_version(known: Managers, first: str) -> dict[str, Fields]:
    found: dict[str, Fields] = {first: field_sets.EMPTY}
    for share in known.values():
        found[share.version] = field_sets.union(found.get(share.version, field_sets.EMPTY), share.fields)
    return found


def _type_of(version: str, schema: Schema, writer: WriteContext) -> TypeDef | None:
    told = schema if writer.versions is None else writer.versions.get(version)
    return None if told is None else typed_schemas.type_of(told)


def _restore_owned(merged: Object, left: Object, fields: Fields, shape: TypeDef) -> Object:
    """With what was taken away though somebody owns it."""
    whole, kept = (
        with_declared_parents(to_field_set(merged, shape), shape),
        with_declared_parents(to_field_set(left, shape), shape),
    )
    gone = field_sets.difference(whole, field_sets.union(kept, with_declared_parents(fields, shape)))
    return apply_merge.remove_fields(merged, gone, shape) or {}


def _restore_dangling(merged: Object, left: Object, owned: Fields, shape: TypeDef) -> Object:
    """With what was taken away along with its surroundings, though the applier never owned it."""
    whole, kept = (
        with_declared_parents(to_field_set(merged, shape), shape),
        with_declared_parents(to_field_set(left, shape), shape),
    )
    gone = field_sets.intersection(field_sets.difference(whole, kept), owned)
    return apply_merge.remove_fields(merged, gone, shape) or {}
