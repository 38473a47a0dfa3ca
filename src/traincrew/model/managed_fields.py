"""Who created an object, and through which API version, from its managed fields."""

from __future__ import annotations

import datetime as dt

import msgspec

from traincrew.apimachinery import json_nesting
from traincrew.model.meta import Struct, Time

_LATEST = dt.datetime.max.replace(tzinfo=dt.UTC)


class ManagedFieldsEntry(Struct):
    """The fields that one client has set with requests of one API version."""

    api_version: str = ""
    subresource: str = ""
    time: Time | None = None
    fields_v1: msgspec.Raw = msgspec.field(name="fieldsV1", default=msgspec.Raw(b"{}"))

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    def owns(self, field: str) -> bool:
        return f'"f:{field}"'.encode() in bytes(self.fields_v1)


class _Meta(Struct):
    managed_fields: list[ManagedFieldsEntry] = []


class _Object(Struct):
    metadata: _Meta = _Meta()


_decoder = msgspec.json.Decoder(_Object)


def creation(raw: bytes, field: str) -> ManagedFieldsEntry | None:
    """The entry of the client that created the object: the earliest one that has set this field, which no other client sets.

    None: the object has no such entry. A webhook's changes to a new object belong to nobody.
    """
    if b'"managedFields"' not in raw:
        return None
    try:
        entries = json_nesting.decode(_decoder.decode, raw).metadata.managed_fields
    except msgspec.ValidationError:
        return None  # a time that cannot be read
    owners = [entry for entry in entries if not entry.subresource and entry.owns(field)]
    return min(owners, key=lambda entry: entry.time or _LATEST, default=None)
