"""What the store keeps and what it tells."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import msgspec

from traincrew.apimachinery.resource_info import Object

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Key(NamedTuple):
    resource: str
    """Served.store_name."""
    namespace: str
    """Empty for what is cluster-scoped."""
    name: str


class Facts(NamedTuple):
    """What selectors ask for."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]


Describe = Callable[[str, Object], Facts]
"""From a resource and an object of it. Must not keep the object: it belongs to the caller of put."""


class Record(msgspec.Struct, frozen=True, eq=False):
    """One state of one object."""

    key: Key
    revision: int
    value: bytes
    """JSON; its metadata.resourceVersion is the revision."""
    described: Facts | Describe

    def __repr__(self) -> str:
        # The value may be a secret, and representations end up in logs.
        return f"Record({'/'.join(self.key)} at {self.revision}, {len(self.value)} bytes)"

    @property
    def facts(self) -> Facts:
        # Records read from the file are described when somebody selects: decoding all of them would make opening slow.
        described = self.described
        if not isinstance(described, Facts):
            described = described(self.key.resource, decode(self.value))
            msgspec.structs.force_setattr(self, "described", described)
        return described

    def forget_facts(self, describe: Describe) -> None:
        msgspec.structs.force_setattr(self, "described", describe)


ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class Change(msgspec.Struct, frozen=True, eq=False):
    """One committed event."""

    revision: int
    type: ChangeType
    record: Record
    """Of a deletion: the last state, with the deletion's revision."""
    before: Record | None


def buried(last: Record, revision: int) -> Record:
    """The record that a deletion tells."""
    value = decode(last.value)
    value["metadata"]["resourceVersion"] = str(revision)
    return Record(last.key, revision, encode(value), last.described)


def place(key: Key) -> tuple[str, str]:
    """Sorts as etcd does, by the path namespace/name: `a-b/x` comes before `a/x`."""
    return key.namespace + "/", key.name


@dataclasses.dataclass(frozen=True)
class Limits:
    """History in the file may be read again by watches and paged lists; the recent part of it is in memory as well."""

    history_changes: int = 100_000
    history_bytes: int = 256 * 2**20
    history_age: float = 600.0
    """Seconds. History is cut at whichever of the three is reached first."""
    recent_changes: int = 10_000
    recent_bytes: int = 32 * 2**20
    """Of states that are no longer current. A feed that falls behind what is in memory is dropped."""
    group_changes: int = 128
    group_bytes: int = 8 * 2**20
    """What one commit takes at most."""
