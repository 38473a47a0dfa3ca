"""Updates the managers of fields when objects are written."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Unpack

from traincrew.apimachinery import json_equality
from traincrew.apimachinery.patches import field_sets, managed_fields, typed_schemas
from traincrew.apimachinery.patches.field_comparison import Comparison, compare
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.managed_fields import (
    UPDATE,
    FieldManager,
    ManagedFieldsContext,
    Managers,
    VersionedSet,
    WriteContextFields,
)
from traincrew.apimachinery.patches.schema_reconciliation import reconcile
from traincrew.apimachinery.patches.zero_objects import is_custom, zero_object
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

BEFORE_FIRST_APPLY = "before-first-apply"


def update_managed_fields(
    before: Object | None, after: Object, schema: Schema, **context_fields: Unpack[WriteContextFields]
) -> None:
    """Sets metadata.managedFields of `after`, which replaces `before`.

    `before` None: the object is new and the writer manages all of it. An object without managedFields stays without. A client
    may reset managedFields with a list of one empty entry. An empty list resets them too, but not those of custom resources.
    """
    context = ManagedFieldsContext(**context_fields)
    given = after["metadata"].get("managedFields")
    if context.subresource or (given == [] and is_custom(schema)):
        given = None
    managers = _current_managers(before, given)
    if managers or before is None:
        managers = _after_update(before, after, schema, managers, context)
    after["metadata"] = with_managers(after["metadata"], managers)


def with_managers(metadata: Object, by: Managers) -> Object:
    """A copy of the metadata with these managers. Metadata may be shared with other objects."""
    bare = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**bare, "managedFields": managed_fields.encode(by)} if by else bare


def first_apply(live: Object, schema: Schema, context: ManagedFieldsContext) -> Managers:
    """The managers of an object that has none yet: `before-first-apply` manages all its fields."""
    return _after_update(None, live, schema, {}, dataclasses.replace(context, manager=BEFORE_FIRST_APPLY))


def ignore_timestamps(before: Object, after: Object) -> None:
    """Restores the times of managedFields, in place, if nothing else differs: then the write is a no-op."""
    was, now = before["metadata"], after["metadata"]
    if not _equal_without_times(was.get("managedFields"), now.get("managedFields")):
        return
    unchanged = {**after, "metadata": {**now, "managedFields": was["managedFields"]}}
    if json_equality.deep_equal(unchanged, before):
        after["metadata"] = unchanged["metadata"]


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
            if managers := managed_fields.decode_strict(given):
                return managers
        except ValueError:
            pass
    return managed_fields.decode(live)


def _after_update(
    before: Object | None, after: Object, schema: Schema, managers: Managers, context: ManagedFieldsContext
) -> Managers:
    if before is None:
        before = zero_object(schema, after)
    version = after["apiVersion"]
    managers = reconcile_managers(managers, after, schema, context)
    changes = VersionedComparison(before, after, schema, version, context)
    left = release_changed(managers, changes)
    comparison = changes.own
    gained = field_sets.difference(field_sets.union(comparison.modified, comparison.added), managed_fields.STRIPPED_FIELDS)
    if gained:
        manager = FieldManager(context.manager or "unknown", UPDATE, version, context.subresource)
        had = left[manager].fields if manager in left else field_sets.EMPTY
        left[manager] = VersionedSet(field_sets.union(gained, had), version, context.now)
    return managed_fields.cap_updaters(left)


def reconcile_managers(managers: Managers, after: Object, schema: Schema, context: ManagedFieldsContext) -> Managers:
    """Adapts the managers to the current schema. Schemas of built-in kinds do not change at run time."""
    if not is_custom(schema) or not managers:
        return managers
    return reconcile(managers, schema, context)


class VersionedComparison:
    """The comparison of two objects in every API version that some manager uses."""

    def __init__(self, before: Object, after: Object, schema: Schema, version: str, context: ManagedFieldsContext) -> None:
        self._before, self._after, self._versions = before, after, context.versions
        self.version, self.reset = version, reset_fields(context.reset)
        self.own = compare(before, after, typed_schemas.type_of(schema)).without(self.reset)
        self._found: dict[str, Comparison] = {version: self.own}

    def in_version(self, version: str) -> Comparison | None:
        """None: the version is not served."""
        if version in self._found or self._versions is None:
            return self._found.get(version, self.own)
        schema = self._versions.get(version)
        if schema is None:
            return None
        self._found[version] = compare(self._before, self._after, typed_schemas.type_of(schema)).without(self.reset)
        return self._found[version]


def release_changed(managers: Managers, changes: VersionedComparison, but: FieldManager | None = None) -> Managers:
    """The managers without the fields that this change takes from them."""
    left: Managers = {}
    for manager, versioned_set in managers.items():
        if manager == but:
            left[manager] = versioned_set
        elif (seen := changes.in_version(versioned_set.version)) is not None:
            fields = field_sets.difference(field_sets.difference(versioned_set.fields, seen.changed), seen.removed)
            if fields:
                left[manager] = versioned_set.with_fields(fields)
    return left


@functools.lru_cache(256)
def reset_fields(paths: frozenset[tuple[str, ...]]) -> Fields:
    return field_sets.from_paths(paths)
