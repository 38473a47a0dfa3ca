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
MOST_UPDATERS = 10
ANCIENT = "ancient-changes"
_OF_THE_SERVER = "name namespace creationTimestamp selfLink uid clusterName generation managedFields resourceVersion"
NEVER_OWNED = field_sets.of([("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _OF_THE_SERVER.split())])


@dataclasses.dataclass(frozen=True)
class Writer:
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


class Writing(TypedDict):
    """A Writer's fields, as keyword arguments."""

    manager: str
    now: str
    subresource: NotRequired[str]
    reset: NotRequired[frozenset[tuple[str, ...]]]
    versions: NotRequired[Mapping[str, Schema] | None]


@dataclasses.dataclass(frozen=True)
class Owner:
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
class Share:
    """What one owner owns."""

    fields: Fields
    version: str
    time: str = ""
    entry: Object | None = None
    """The entry that it was read from, if it is still the same."""

    def owning(self, fields: Fields) -> Share:
        return self if fields is self.fields else Share(fields, self.version, self.time)


Owners = dict[Owner, Share]


def read(entries: Any) -> Owners:
    """A ValueError if that is not how managedFields are written."""
    if not isinstance(entries, list):
        raise ValueError(entries)
    found: Owners = {}
    for entry in entries:
        version, operation = entry.get("apiVersion"), entry.get("operation")
        if operation not in (UPDATE, APPLY) or not version or entry.get("fieldsType") != "FieldsV1":
            raise ValueError(entry)
        applied = operation == APPLY
        owner = Owner(entry.get("manager", ""), operation, "" if applied else version, entry.get("subresource", ""))
        found[owner] = Share(entry.get("fieldsV1") or {}, version, entry.get("time") or "", entry)
    return found


def checked(entries: Any) -> Owners:
    """What somebody else wrote; a ValueError if it does not hold together."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(entries)
    return {owner: Share(field_sets.read(share.fields), share.version, share.time) for owner, share in read(entries).items()}


def written(owners: Owners) -> list[Object]:
    entries = [share.entry or _entry(owner, share) for owner, share in owners.items()]
    return sorted(entries, key=_place)


def _entry(owner: Owner, share: Share) -> Object:
    entry = {"manager": owner.manager, "operation": owner.operation, "apiVersion": share.version}
    entry |= {"time": share.time} if share.time else {}
    whole: Object = {**entry, "fieldsType": "FieldsV1", "fieldsV1": field_sets.ordered(share.fields)}
    return whole | ({"subresource": owner.subresource} if owner.subresource else {})


def _place(entry: Object) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name) or "" for name in names)


def capped(owners: Owners) -> Owners:
    """Of more than ten updaters the oldest become one, for each version."""
    updaters = [owner for owner in owners if owner.operation == UPDATE]
    many = len(updaters)
    if many <= MOST_UPDATERS:
        return owners
    left, first = dict(owners), dict[str, Owner]()
    for owner in sorted(updaters, key=lambda each: (owners[each].time, each.identifier)):
        if many <= MOST_UPDATERS:
            break
        version = owners[owner].version
        if version not in first:
            first[version] = owner
            continue
        bucket = Owner(ANCIENT, UPDATE, version)
        if bucket not in left:
            left[bucket] = left.pop(first[version])
        fields = field_sets.union(left.pop(owner).fields, left[bucket].fields)
        left[bucket] = Share(fields, version, owners[owner].time)
        many -= 1
    return left
