"""Conversion between the version of a request and the storage version.

Custom resources have the conversion strategy None: only the apiVersion changes. The stored object is pruned and defaulted by the
schema of the storage version. An object that is older than its definition is so when it is read.
"""

from __future__ import annotations

import functools

import msgspec

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.conversions import CONVERSIONS, VersionConversion
from traincrew.embedded.apiserver.schema import coercion, custom_resources
from traincrew.embedded.apiserver.storage.records import Record


@functools.lru_cache(maxsize=1024)
def prefix(kind: str, api_version: str) -> bytes:
    """The first bytes of every stored object of this version."""
    return b'{"kind":%s,"apiVersion":%s,' % (msgspec.json.encode(kind), msgspec.json.encode(api_version))


def with_type_meta(obj: Object, info: ResourceInfo) -> Object:
    """The object with the kind and apiVersion of that version in front."""
    return {"kind": info.kind, "apiVersion": info.api_version} | {
        key: value for key, value in obj.items() if key not in ("kind", "apiVersion")
    }


def stored_api_version(info: ResourceInfo) -> str:
    if info.stored_as is not None:
        return info.stored_as.api_version
    version = info.storage_version or info.version
    return f"{info.group}/{version}" if info.group else version


def _conversion(info: ResourceInfo) -> VersionConversion | None:
    return CONVERSIONS[info.api_version, info.kind] if info.stored_as is not None else None


def to_storage(obj: Object, info: ResourceInfo) -> Object:
    """An object of this version as it is to be stored. The object itself may change."""
    if (conversion := _conversion(info)) is not None:
        obj = conversion.kept(obj)
    elif info.storage_version:
        custom_resources.prune_and_default(obj, info.stored_schema)
    if info.definition is not None:
        coercion.integral_floats_to_integers(obj)
    return with_type_meta(obj, info) | {"apiVersion": stored_api_version(info)}


def from_storage(stored: Object, info: ResourceInfo) -> Object:
    """A stored object, in this version."""
    conversion = _conversion(info)
    return with_type_meta(conversion.shown(stored) if conversion else stored, info)


def decoded_object(record: Record, info: ResourceInfo) -> Object:
    """A copy, in this version."""
    obj: Object = msgspec.json.decode(record.value)
    if record.revision <= info.since:
        custom_resources.prune_and_default(obj, info.stored_schema)
    return from_storage(obj, info)


def encoded_object(record: Record, info: ResourceInfo) -> bytes:
    """The bytes of the object in this version."""
    return _with_prefix(record, info, prefix(info.kind, info.api_version))


def encoded_item(record: Record, info: ResourceInfo) -> bytes:
    """The bytes of an item of a list. Items of built-in kinds have no kind."""
    return encoded_object(record, info) if info.definition is not None else _with_prefix(record, info, b"{")


def _with_prefix(record: Record, info: ResourceInfo, begins: bytes) -> bytes:
    """The bytes of the object with another prefix."""
    if info.stored_as is None and record.revision > info.since:
        held = prefix(info.kind, stored_api_version(info))
        if held == begins:
            return record.value
        if record.value.startswith(held):
            return begins + record.value[len(held) :]
    encoded = msgspec.json.encode(decoded_object(record, info))
    return begins + encoded[len(prefix(info.kind, info.api_version)) :]
