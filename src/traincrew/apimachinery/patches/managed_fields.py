"""metadata.managedFields: the managers of an object's fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from traincrew.apimachinery import go_format
from traincrew.apimachinery.patches import field_sets, path_elements
from traincrew.apimachinery.patches.field_sets import Fields
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object

UPDATE, APPLY = "Update", "Apply"
MAX_UPDATE_MANAGERS = 10
ANCIENT_CHANGES = "ancient-changes"
_STRIPPED_METADATA = "name namespace creationTimestamp selfLink uid clusterName generation managedFields resourceVersion"
STRIPPED_FIELDS = field_sets.from_paths(
    [("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _STRIPPED_METADATA.split())]
)


@dataclasses.dataclass(frozen=True)
class ManagedFieldsContext:
    """The manager, time and subresource of a write."""

    manager: str
    now: str
    """RFC 3339, in seconds: 2025-01-31T12:00:00Z."""
    subresource: str = ""
    reset: frozenset[tuple[str, ...]] = frozenset()
    """Fields that this endpoint resets, such as ("status",): the write does not change their managers."""
    versions: Mapping[str, Schema] | None = None
    """The schemas of all served versions, by apiVersion. Sets of other versions are dropped. None: one schema for all."""


class WriteContextFields(TypedDict):
    """The fields of WriteContext, as keyword arguments."""

    manager: str
    now: str
    subresource: NotRequired[str]
    reset: NotRequired[frozenset[tuple[str, ...]]]
    versions: NotRequired[Mapping[str, Schema] | None]


@dataclasses.dataclass(frozen=True)
class FieldManager:
    """The identity of an entry of managedFields. For Apply the version is no part of it."""

    manager: str
    operation: str
    version: str = ""
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """The manager identifier of the API server, by which it sorts."""
        named = {"manager": self.manager, "operation": self.operation}
        named |= {"apiVersion": self.version} if self.version else {}
        named |= {"subresource": self.subresource} if self.subresource else {}
        return "{" + ",".join(f'"{key}":{path_elements.literal(value)}' for key, value in named.items()) + "}"

    def display(self) -> str:
        """As conflict messages show it."""
        text = go_format.quote(self.manager)
        if self.subresource:
            text += f" with subresource {go_format.quote(self.subresource)}"
        return f"{text} using {self.version}" if self.operation == UPDATE else text


@dataclasses.dataclass(frozen=True)
class VersionedSet:
    """The fields of one manager, in one API version."""

    fields: Fields
    version: str
    time: str = ""
    entry: Object | None = None
    """The decoded entry, if the set has not changed since."""

    def with_fields(self, fields: Fields) -> VersionedSet:
        return self if fields is self.fields else VersionedSet(fields, self.version, self.time)


Managers = dict[FieldManager, VersionedSet]


def decode(entries: Any) -> Managers:
    """Raises ValueError for malformed entries."""
    if not isinstance(entries, list):
        raise ValueError(entries)
    managers: Managers = {}
    for entry in entries:
        version, operation = entry.get("apiVersion"), entry.get("operation")
        if operation not in (UPDATE, APPLY) or not version or entry.get("fieldsType") != "FieldsV1":
            raise ValueError(entry)
        applied = operation == APPLY
        manager = FieldManager(entry.get("manager", ""), operation, "" if applied else version, entry.get("subresource", ""))
        managers[manager] = VersionedSet(entry.get("fieldsV1") or {}, version, entry.get("time") or "", entry)
    return managers


def decode_strict(entries: Any) -> Managers:
    """Decodes entries from a client. Raises ValueError for malformed ones."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(entries)
    return {
        manager: VersionedSet(field_sets.decode(versioned_set.fields), versioned_set.version, versioned_set.time)
        for manager, versioned_set in decode(entries).items()
    }


def encode(managers: Managers) -> list[Object]:
    entries = [versioned_set.entry or _entry(manager, versioned_set) for manager, versioned_set in managers.items()]
    return sorted(entries, key=_sort_key)


def _entry(manager: FieldManager, versioned_set: VersionedSet) -> Object:
    entry = {"manager": manager.manager, "operation": manager.operation, "apiVersion": versioned_set.version}
    entry |= {"time": versioned_set.time} if versioned_set.time else {}
    with_fields: Object = {**entry, "fieldsType": "FieldsV1", "fieldsV1": field_sets.ordered(versioned_set.fields)}
    return with_fields | ({"subresource": manager.subresource} if manager.subresource else {})


def _sort_key(entry: Object) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name) or "" for name in names)


def cap_updaters(managers: Managers) -> Managers:
    """Merges the oldest update managers of each version into `ancient-changes` if there are more than ten."""
    updaters = [manager for manager in managers if manager.operation == UPDATE]
    many = len(updaters)
    if many <= MAX_UPDATE_MANAGERS:
        return managers
    left, first = dict(managers), dict[str, FieldManager]()
    for manager in sorted(updaters, key=lambda each: (managers[each].time, each.identifier)):
        if many <= MAX_UPDATE_MANAGERS:
            break
        version = managers[manager].version
        if version not in first:
            first[version] = manager
            continue
        bucket = FieldManager(ANCIENT_CHANGES, UPDATE, version)
        if bucket not in left:
            left[bucket] = left.pop(first[version])
        fields = field_sets.union(left.pop(manager).fields, left[bucket].fields)
        left[bucket] = VersionedSet(fields, version, managers[manager].time)
        many -= 1
    return left
