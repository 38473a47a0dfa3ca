"""Who owns which fields of an object: metadata.managedFields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from traincrew.apimachinery import go_format
from traincrew.apimachinery.patches import field_sets, path_elements
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.resource_info import Object, Schema

UPDATE, APPLY = "Update", "Apply"
MAX_UPDATE_MANAGERS = 10
ANCIENT_CHANGES = "ancient-changes"
_STRIPPED_METADATA = "name namespace creationTimestamp selfLink uid clusterName generation managedFields resourceVersion"
STRIPPED_FIELDS = field_sets.from_paths(
    [("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _STRIPPED_METADATA.split())]
)


@dataclasses.dataclass(frozen=True)
class WriteContext:
    """Who writes, when, and by which door."""

    manager: str
    now: str
    """RFC 3339, in seconds: 2025-01-31T12:00:00Z."""
    subresource: str = ""
    reset: frozenset[tuple[str, ...]] = frozenset()
    """Fields that cannot be written by this door, such as ("status",): nobody gets or loses them by it."""
    versions: Mapping[str, Schema] | None = None
    """Schemas of all served versions by apiVersion. What is owned in a version that is not among them is forgotten.
    None: one schema for all."""


class WriteContextFields(TypedDict):
    """A Writer's fields, as keyword arguments."""

    manager: str
    now: str
    subresource: NotRequired[str]
    reset: NotRequired[frozenset[tuple[str, ...]]]
    versions: NotRequired[Mapping[str, Schema] | None]


@dataclasses.dataclass(frozen=True)
class FieldManager:
    """Who did what: one entry of managedFields is one owner's. An applier stays the same whatever version it uses."""

    manager: str
    operation: str
    version: str = ""
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """As the API server makes it: it sorts by this."""
        named = {"manager": self.manager, "operation": self.operation}
        named |= {"apiVersion": self.version} if self.version else {}
        named |= {"subresource": self.subresource} if self.subresource else {}
        return "{" + ",".join(f'"{key}":{path_elements.literal(value)}' for key, value in named.items()) + "}"

    def told(self) -> str:
        text = go_format.quote(self.manager)
        if self.subresource:
            text += f" with subresource {go_format.quote(self.subresource)}"
        return f"{text} using {self.version}" if self.operation == UPDATE else text


@dataclasses.dataclass(frozen=True)
class VersionedSet:
    """What one owner owns."""

    fields: Fields
    version: str
    time: str = ""
    entry: Object | None = None
    """The entry that it was read from, if it is still the same."""

    def owning(self, fields: Fields) -> VersionedSet:
        return self if fields is self.fields else VersionedSet(fields, self.version, self.time)


Managers = dict[FieldManager, VersionedSet]


def decode(entries: Any) -> Managers:
    """A ValueError if that is not how managedFields are written."""
    if not isinstance(entries, list):
        raise ValueError(entries)
    found: Managers = {}
    for entry in entries:
        version, operation = entry.get("apiVersion"), entry.get("operation")
        if operation not in (UPDATE, APPLY) or not version or entry.get("fieldsType") != "FieldsV1":
            raise ValueError(entry)
        applied = operation == APPLY
        owner = FieldManager(entry.get("manager", ""), operation, "" if applied else version, entry.get("subresource", ""))
        found[owner] = VersionedSet(entry.get("fieldsV1") or {}, version, entry.get("time") or "", entry)
    return found


def decode_strict(entries: Any) -> Managers:
    """What somebody else wrote; a ValueError if it does not hold together."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(entries)
    return {
        owner: VersionedSet(field_sets.decode(share.fields), share.version, share.time)
        for owner, share in decode(entries).items()
    }


def encode(owners: Managers) -> list[Object]:
    entries = [share.entry or _entry(owner, share) for owner, share in owners.items()]
    return sorted(entries, key=_sort_key)


def _entry(owner: FieldManager, share: VersionedSet) -> Object:
    entry = {"manager": owner.manager, "operation": owner.operation, "apiVersion": share.version}
    entry |= {"time": share.time} if share.time else {}
    whole: Object = {**entry, "fieldsType": "FieldsV1", "fieldsV1": field_sets.ordered(share.fields)}
    return whole | ({"subresource": owner.subresource} if owner.subresource else {})


def _sort_key(entry: Object) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name) or "" for name in names)


def cap_updaters(owners: Managers) -> Managers:
    """Of more than ten updaters the oldest become one, for each version."""
    updaters = [owner for owner in owners if owner.operation == UPDATE]
    many = len(updaters)
    if many <= MAX_UPDATE_MANAGERS:
        return owners
    left, first = dict(owners), dict[str, FieldManager]()
    for owner in sorted(updaters, key=lambda each: (owners[each].time, each.identifier)):
        if many <= MAX_UPDATE_MANAGERS:
            break
        version = owners[owner].version
        if version not in first:
            first[version] = owner
            continue
        bucket = FieldManager(ANCIENT_CHANGES, UPDATE, version)
        if bucket not in left:
            left[bucket] = left.pop(first[version])
        fields = field_sets.union(left.pop(owner).fields, left[bucket].fields)
        left[bucket] = VersionedSet(fields, version, owners[owner].time)
        many -= 1
    return left
