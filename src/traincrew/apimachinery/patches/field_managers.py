"""Fields change hands when objects are written."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Unpack

from traincrew.apimachinery.patches import field_sets, managed_fields, merge_shapes
from traincrew.apimachinery.patches.field_changes import Differences, compare
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.patches.go_zero_values import is_custom, zero
from traincrew.apimachinery.patches.managed_fields import UPDATE, Owner, Owners, Share, Writer, Writing
from traincrew.apimachinery.patches.schema_reconciliation import reconciled
from traincrew.apimachinery.resource_info import Object, Schema

BEFORE_FIRST_APPLY = "before-first-apply"


def updated(before: Object | None, after: Object, schema: Schema, **writing: Unpack[Writing]) -> None:
    """Sets metadata.managedFields of `after`, which a Writer has put in the place of `before`.

    `before` None: the object is new, and the writer owns all of it. An object whose owners were not kept until now
    stays without. The writer may have set managedFields itself: a list of one empty entry forgets them, and so does an
    empty list, but that of custom resources the API server does not see.
    """
    writer = Writer(**writing)
    given = after["metadata"].get("managedFields")
    if writer.subresource or (given == [] and is_custom(schema)):
        given = None
    known = _known(before, given)
    if known or before is None:
        known = _updated(before, after, schema, known, writer)
    after["metadata"] = owned(after["metadata"], known)


def owned(metadata: Object, by: Owners) -> Object:
    """Metadata that names these owners. It is often shared with other objects, so it is not changed but copied."""
    bare = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**bare, "managedFields": managed_fields.written(by)} if by else bare


def first_apply(live: Object, schema: Schema, writer: Writer) -> Owners:
    """Owners of an object that has none yet: whatever it holds is `before-first-apply`'s."""
    return _updated(None, live, schema, {}, dataclasses.replace(writer, manager=BEFORE_FIRST_APPLY))


def settled(before: Object, after: Object) -> Object:
    """`before`, if the two differ in nothing but the times of managedFields: then nothing was written."""
    was, now = before["metadata"], after["metadata"]
    if not _timeless(was.get("managedFields"), now.get("managedFields")):
        return after
    bare = {key: value for key, value in now.items() if key != "managedFields"}
    same = bare == {key: value for key, value in was.items() if key != "managedFields"}
    return before if same and {**after, "metadata": None} == {**before, "metadata": None} else after


def _timeless(was: list[Object] | None, now: list[Object] | None) -> bool:
    if not was or not now or len(was) != len(now):
        return False
    return all({**one, "time": None} == {**other, "time": None} for one, other in zip(was, now, strict=True))


def _known(before: Object | None, given: Any) -> Owners:
    live = (before or {}).get("metadata", {}).get("managedFields") or []
    if given is not None and given is not live:
        if given in ([], [{}]):
            return {}
        try:
            if found := managed_fields.checked(given):
                return found
        except ValueError:
            pass
    return managed_fields.read(live)


def _updated(before: Object | None, after: Object, schema: Schema, known: Owners, writer: Writer) -> Owners:
    if before is None:
        before = zero(schema, after)
    version = after["apiVersion"]
    known = current(known, after, schema, writer)
    changes = Changes(before, after, schema, version, writer)
    left = given_up(known, changes)
    found = changes.own
    gained = field_sets.difference(field_sets.union(found.modified, found.added), managed_fields.NEVER_OWNED)
    if gained:
        owner = Owner(writer.manager or "unknown", UPDATE, version, writer.subresource)
        had = left[owner].fields if owner in left else field_sets.EMPTY
        left[owner] = Share(field_sets.union(gained, had), version, writer.now)
    return managed_fields.capped(left)


def current(known: Owners, after: Object, schema: Schema, writer: Writer) -> Owners:
    """Owners by the schemas of today. Those of built-in kinds do not change while a server runs."""
    if not is_custom(schema) or not known:
        return known
    return reconciled(known, schema, writer)


class Changes:
    """In what two objects differ, in whichever version somebody owns them. Versions have the same fields."""

    def __init__(self, before: Object, after: Object, schema: Schema, version: str, writer: Writer) -> None:
        self._before, self._after, self._versions = before, after, writer.versions
        self.version, self.reset = version, reset_fields(writer.reset)
        self.own = compare(before, after, merge_shapes.of(schema)).without(self.reset)
        self._found: dict[str, Differences] = {version: self.own}

    def seen_in(self, version: str) -> Differences | None:
        """None: there is no such version."""
        if version in self._found or self._versions is None:
            return self._found.get(version, self.own)
        schema = self._versions.get(version)
        if schema is None:
            return None
        self._found[version] = compare(self._before, self._after, merge_shapes.of(schema)).without(self.reset)
        return self._found[version]


def given_up(known: Owners, changes: Changes, but: Owner | None = None) -> Owners:
    """What is left to all owners when somebody else has made these changes."""
    left: Owners = {}
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
    return field_sets.of(paths)
