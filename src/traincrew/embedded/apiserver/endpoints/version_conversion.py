"""Objects in the version that was asked for, and in the one that they are kept in.

Custom resources are converted by name only, as CRDs without a webhook have it; but what is kept goes through the schema of the
version that it is kept in: whatever that does not know is pruned, and its defaults are filled in. An object that is older than
its definition goes through it whenever it is read.
"""

from __future__ import annotations

import functools

import msgspec

from traincrew.apimachinery.resource_info import Object, ResourceInfo
from traincrew.embedded.apiserver.registry.builtin.conversions import CONVERSIONS, VersionConversion
from traincrew.embedded.apiserver.schema import coercion, custom_resources
from traincrew.embedded.apiserver.storage.records import Record


@functools.lru_cache(maxsize=1024)
def prefix(kind: str, api_version: str) -> bytes:
    """How every stored object of this version begins."""
    return b'{"kind":%s,"apiVersion":%s,' % (msgspec.json.encode(kind), msgspec.json.encode(api_version))


def with_type_meta(obj: Object, info: ResourceInfo) -> Object:
    """The object with kind and apiVersion of that version, in front."""
    return {"kind": info.kind, "apiVersion": info.api_version} | {
        key: value for key, value in obj.items() if key not in ("kind", "apiVersion")
    }


def stored_api_version(info: ResourceInfo) -> str:
    if info.kept_as is not None:
        return info.kept_as.api_version
    version = info.storage_version or info.version
    return f"{info.group}/{version}" if info.group else version


def _conversion(info: ResourceInfo) -> VersionConversion | None:
    return CONVERSIONS[info.api_version, info.kind] if info.kept_as is not None else None


def to_storage(obj: Object, info: ResourceInfo) -> Object:
    """An object of this version as it is to be stored. The object itself may change."""
    if (conversion := _conversion(info)) is not None:
        obj = conversion.kept(obj)
    elif info.storage_version:
        custom_resources.prune_and_default(obj, info.stored_schema)
    if info.definition is not None:
        coercion.whole(obj)
    return with_type_meta(obj, info) | {"apiVersion": stored_api_version(info)}


def from_storage(stored: Object, info: ResourceInfo) -> Object:
    """What is stored, in this version."""
    conversion = _conversion(info)
    return with_type_meta(conversion.shown(stored) if conversion else stored, info)


def decoded_object(record: Record, info: ResourceInfo) -> Object:
    """A copy of one's own, in this version."""
    obj: Object = msgspec.json.decode(record.value)
    if record.revision <= info.since:
        custom_resources.prune_and_default(obj, info.stored_schema)
    return from_storage(obj, info)


def encoded_object(record: Record, info: ResourceInfo) -> bytes:
    """The object's bytes in the version of `served`."""
    return _after(record, info, prefix(info.kind, info.api_version))


def encoded_item(record: Record, info: ResourceInfo) -> bytes:
    """As an item of a list: items of built-in kinds carry no kind of their own."""
    return encoded_object(record, info) if info.definition is not None else _after(record, info, b"{")


def _after(record: Record, info: ResourceInfo, begins: bytes) -> bytes:
    """The object's bytes with another beginning."""
    if info.kept_as is None and record.revision > info.since:
        held = prefix(info.kind, stored_api_version(info))
        if held == begins:
            return record.value
        if record.value.startswith(held):
            return begins + record.value[len(held) :]
    encoded = msgspec.json.encode(decoded_object(record, info))
    return begins + encoded[len(prefix(info.kind, info.api_version)) :]
