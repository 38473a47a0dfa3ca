"""Fields change hands when objects are written."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Unpack

from traincrew.apimachinery.patches import field_sets, managed_fields, typed_schemas
from traincrew.apimachinery.patches.field_comparison import Comparison, compare
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import (
    UPDATE,
    FieldManager,
    Managers,
    VersionedSet,
    WriteContext,
    WriteContextFields,
)
from traincrew.apimachinery.patches.schema_reconciliation import reconcile
from traincrew.apimachinery.patches.zero_objects import is_custom, zero_object
from traincrew.apimachinery.resource_info import Object, Schema

BEFORE_FIRST_APPLY = "before-first-apply"


def update_managed_fields(before: Object | None, after: Object, schema: Schema, **writing: Unpack[WriteContextFields]) -> None:
    """Sets metadata.managedFields of `after`, which a Writer has put in the place of `before`.

    `before` None: the object is new, and the writer owns all of it. An object whose owners were not kept until now
    stays without. The writer may have set managedFields itself: a list of one empty entry forgets them, and so does an
    empty list, but that of custom resources the API server does not see.
    """
    writer = WriteContext(**writing)
    given = after["metadata"].get("managedFields")
    if writer.subresource or (given == [] and is_custom(schema)):
        given = None
    known = _current_managers(before, given)
    if known or before is None:
        known = _after_update(before, after, schema, known, writer)
    after["metadata"] = with_managers(after["metadata"], known)


def with_managers(metadata: Object, by: Managers) -> Object:
    """Metadata that names these owners. It is often shared with other objects, so it is not changed but copied."""
    bare = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**bare, "managedFields": managed_fields.encode(by)} if by else bare


def first_apply(live: Object, schema: Schema, writer: WriteContext) -> Managers:
    """Owners of an object that has none yet: whatever it holds is `before-first-apply`'s."""
    return _after_update(None, live, schema, {}, dataclasses.replace(writer, manager=BEFORE_FIRST_APPLY))


def ignore_timestamps(before: Object, after: Object) -> Object:
    """`before`, if the two differ in nothing but the times of managedFields: then nothing was written."""
    was, now = before["metadata"], after["metadata"]
    if not _equal_without_times(was.get("managedFields"), now.get("managedFields")):
        return after
    bare = {key: value for key, value in now.items() if key != "managedFields"}
    same = bare == {key: value for key, value in was.items() if key != "managedFields"}
    return before if same and {**after, "metadata": None} == {**before, "metadata": None} else after


def _equal_without_times(was: list[Object] | None, now: list[Object] | None) -> bool:
    if not was or not now or len(was) != len(now):
        return False
    return all({**one, "time": None} == {**other, "time": None} for one, other in zip(was, now, strict=True))


def _current_managers(before: Object | None, given: Any) -> Managers:
    live = (before or {}).get("metadata", {}).get("managedFields") or []
    if given is not None and given is not live:
        if given in ([], [{}]):
            return {}
        try:
            if found := managed_fields.decode_strict(given):
                return found
        except ValueError:
            pass
    return managed_fields.decode(live)


def _after_update(before: Object | None, after: Object, schema: Schema, known: Managers, writer: WriteContext) -> Managers:
    if before is None:
        before = zero_object(schema, after)
    version = after["apiVersion"]
    known = reconcile_managers(known, after, schema, writer)
    changes = VersionedComparison(before, after, schema, version, writer)
    left = release_changed(known, changes)
    found = changes.own
    gained = field_sets.difference(field_sets.union(found.modified, found.added), managed_fields.STRIPPED_FIELDS)
    if gained:
        owner = FieldManager(writer.manager or "unknown", UPDATE, version, writer.subresource)
        had = left[owner].fields if owner in left else field_sets.EMPTY
        left[owner] = VersionedSet(field_sets.union(gained, had), version, writer.now)
    return managed_fields.cap_updaters(left)


def reconcile_managers(known: Managers, after: Object, schema: Schema, writer: WriteContext) -> Managers:
    """Owners by the schemas of today. Those of built-in kinds do not change while a server runs."""
    if not is_custom(schema) or not known:
        return known
    return reconcile(known, schema, writer)


class VersionedComparison:
    """In what two objects differ, in whichever version somebody owns them. Versions have the same fields."""

    def __init__(self, before: Object, after: Object, schema: Schema, version: str, writer: WriteContext) -> None:
        self._before, self._after, self._versions = before, after, writer.versions
        self.version, self.reset = version, reset_fields(writer.reset)
        self.own = compare(before, after, typed_schemas.type_of(schema)).without(self.reset)
        self._found: dict[str, Comparison] = {version: self.own}

    def seen_in(self, version: str) -> Comparison | None:
        """None: there is no such version."""
        if version in self._found or self._versions is None:
            return self._found.get(version, self.own)
        schema = self._versions.get(version)
        if schema is None:
            return None
        self._found[version] = compare(self._before, self._after, typed_schemas.type_of(schema)).without(self.reset)
        return self._found[version]


def release_changed(known: Managers, changes: VersionedComparison, but: FieldManager | None = None) -> Managers:
    """What is left to all owners when somebody else has made these changes."""
    left: Managers = {}
    for owner, share in known.items():
        if owner == but:
            left[owner] = share
        elif (seen := changes.seen_in(share.version)) is not None:
            fields = field_sets.difference(field_sets.difference(share.fields, seen.changed), seen.removed)
            if fields:
                left[owner] = share.owning(fields)
    return left


@functools.lru_cache(256)
def reset_fields(paths: frozenset[tuple[str, ...]]) -> Fields:
    return field_sets.from_paths(paths)
