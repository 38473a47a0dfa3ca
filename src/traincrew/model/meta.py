"""Object metadata, and the parts that all Kubernetes objects share."""

from __future__ import annotations

import datetime as dt
from typing import Protocol, dataclass_transform

import msgspec

Time = dt.datetime


# Without the decorator type checkers would not know that subclasses are frozen too.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Struct(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """A Kubernetes value: camelCase in JSON, without defaults, immutable."""


class OwnerReference(Struct, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Meta(Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def controller(self) -> OwnerReference | None:
        return next((ref for ref in self.owner_references if ref.controller), None)


class Named(Protocol):
    """An object of any kind with metadata."""

    @property
    def metadata(self) -> Meta: ...


def version_number(resource_version: str) -> int:
    """A resource version as a number; 0 if it is none.

    API servers on etcd, and ours, count revisions: a cache compares them to find the newer of two states.
    """
    return int(resource_version) if resource_version.isdecimal() else 0
