"""What an applier no longer says leaves the object, unless somebody else owns it."""

from __future__ import annotations

from traincrew.apimachinery.patches import apply_merge, field_sets, merge_shapes
from traincrew.apimachinery.patches.apply_merge import with_named
from traincrew.apimachinery.patches.field_changes import held
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import Owners, Share, Writer
from traincrew.apimachinery.patches.merge_shapes import Shape
from traincrew.apimachinery.resource_info import Object, Schema


def pruned(merged: Object, last: Share | None, known: Owners, schema: Schema, writer: Writer) -> Object:
    """`last` is what the applier owned before, `known` what everybody owns now."""
    shape = _shape_of(last.version, schema, writer) if last is not None else None
    if last is None or shape is None:
        return merged
    owned = with_named(last.fields, shape)
    if _nothing_left_out(owned, known, shape):
        return merged
    left = apply_merge.removed(merged, owned, shape) or {}
    for version, fields in _by_version(known, last.version).items():
        if fields and (seen := _shape_of(version, schema, writer)) is not None:
            left = _with_owned(merged, left, fields, seen)
    return _with_dangling(merged, left, owned, shape)


def _nothing_left_out(owned: Fields, known: Owners, shape: Shape) -> bool:
    """Quick: when all that was owned still is by one owner of the same version, pruning takes nothing away."""
    return any(not field_sets.difference(owned, with_named(share.fields, shape)) for share in known.values())


def _by_version(known: Owners, first: str) -> dict[str, Fields]:
    found: dict[str, Fields] = {first: field_sets.EMPTY}
    for share in known.values():
        found[share.version] = field_sets.union(found.get(share.version, field_sets.EMPTY), share.fields)
    return found


def _shape_of(version: str, schema: Schema, writer: Writer) -> Shape | None:
    told = schema if writer.versions is None else writer.versions.get(version)
    return None if told is None else merge_shapes.of(told)


def _with_owned(merged: Object, left: Object, fields: Fields, shape: Shape) -> Object:
    """With what was taken away though somebody owns it."""
    whole, kept = with_named(held(merged, shape), shape), with_named(held(left, shape), shape)
    gone = field_sets.difference(whole, field_sets.union(kept, with_named(fields, shape)))
    return apply_merge.removed(merged, gone, shape) or {}


def _with_dangling(merged: Object, left: Object, owned: Fields, shape: Shape) -> Object:
    """With what was taken away along with its surroundings, though the applier never owned it."""
    whole, kept = with_named(held(merged, shape), shape), with_named(held(left, shape), shape)
    gone = field_sets.intersection(field_sets.difference(whole, kept), owned)
    return apply_merge.removed(merged, gone, shape) or {}
