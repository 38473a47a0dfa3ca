"""Records and changes: one state of one object, and one committed event."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import msgspec

from traincrew.apimachinery.unstructured import Object

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Key(NamedTuple):
    resource: str
    """ResourceInfo.store_name."""
    namespace: str
    """Empty for cluster-scoped resources."""
    name: str


class SelectableFields(NamedTuple):
    """The labels and fields that selectors match."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]


GetSelectableFields = Callable[[str, Object], SelectableFields]
"""From a resource and an object. The function must not keep the object: it belongs to the caller of put."""


class Record(msgspec.Struct, frozen=True, eq=False):
    """One state of one object."""

    key: Key
    revision: int
    value: bytes
    """JSON; its metadata.resourceVersion is the revision."""
    selectable_source: SelectableFields | GetSelectableFields

    def __repr__(self) -> str:
        # The value may be a secret, and representations are logged.
        return f"Record({'/'.join(self.key)} at {self.revision}, {len(self.value)} bytes)"

    @property
    def selectable(self) -> SelectableFields:
        # Computed on the first selection: decoding every record would make opening slow.
        source = self.selectable_source
        if not isinstance(source, SelectableFields):
            source = source(self.key.resource, decode(self.value))
            msgspec.structs.force_setattr(self, "selectable_source", source)
        return source

    def reset_selectable(self, get_selectable: GetSelectableFields) -> None:
        msgspec.structs.force_setattr(self, "selectable_source", get_selectable)


ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class RecordChange(msgspec.Struct, frozen=True, eq=False):
    """One committed event."""

    revision: int
    type: ChangeType
    record: Record
    """For a deletion: the last state, with the revision of the deletion."""
    before: Record | None


def tombstone(last: Record, revision: int) -> Record:
    """The record of a DELETED event: the last state at the revision of the deletion."""
    value = decode(last.value)
    value["metadata"]["resourceVersion"] = str(revision)
    return Record(last.key, revision, encode(value), last.selectable_source)


def sort_key(key: Key) -> tuple[str, str]:
    """The order of etcd, by the path namespace/name: `a-b/x` comes before `a/x`."""
    return key.namespace + "/", key.name


@dataclasses.dataclass(frozen=True)
class StorageLimits:
    """Limits of history. Watches and paged lists read it from the file; recent changes are in memory as well."""

    history_changes: int = 100_000
    history_bytes: int = 256 * 2**20
    history_age: float = 600.0
    """Seconds. History is compacted at the first limit that is reached."""
    recent_changes: int = 10_000
    recent_bytes: int = 32 * 2**20
    """Bytes of superseded states. A watch that falls behind the changes in memory is dropped."""
    group_changes: int = 128
    group_bytes: int = 8 * 2**20
    """The maximum size of one commit."""
