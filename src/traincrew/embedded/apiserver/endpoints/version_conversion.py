"""Objects in the version that was asked for, and in the one that they are kept in.

Custom resources are converted by name only, as CRDs without a webhook have it; but what is kept goes through the schema of the
version that it is kept in: whatever that does not know is pruned, and its defaults are filled in. An object that is older than
its definition goes through it whenever it is read.
"""

from __future__ import annotations

import functools

import msgspec

from traincrew.apimachinery.resource_info import Object, ResourceInfo
from traincrew.embedded.apiserver.registry.builtin.conversions import CONVERSIONS, Conversion
from traincrew.embedded.apiserver.schema import coercion, custom_resources
from traincrew.embedded.apiserver.storage.records import Record


@functools.lru_cache(maxsize=1024)
def prefix(kind: str, api_version: str) -> bytes:
    """How every stored object of this version begins."""
    return b'{"kind":%s,"apiVersion":%s,' % (msgspec.json.encode(kind), msgspec.json.encode(api_version))


def titled(obj: Object, served: ResourceInfo) -> Object:
    """The object with kind and apiVersion of that version, in front."""
    return {"kind": served.kind, "apiVersion": served.api_version} | {
        key: value for key, value in obj.items() if key not in ("kind", "apiVersion")
    }


def stored_api_version(served: ResourceInfo) -> str:
    if served.kept_as is not None:
        return served.kept_as.api_version
    version = served.storage_version or served.version
    return f"{served.group}/{version}" if served.group else version


def _conversion(served: ResourceInfo) -> Conversion | None:
    return CONVERSIONS[served.api_version, served.kind] if served.kept_as is not None else None


def kept(obj: Object, served: ResourceInfo) -> Object:
    """An object of this version as it is to be stored. The object itself may change."""
    if (conversion := _conversion(served)) is not None:
        obj = conversion.kept(obj)
    elif served.storage_version:
        custom_resources.settle(obj, served.stored_schema)
    if served.definition is not None:
        coercion.whole(obj)
    return titled(obj, served) | {"apiVersion": stored_api_version(served)}


def back(stored: Object, served: ResourceInfo) -> Object:
    """What is stored, in this version."""
    conversion = _conversion(served)
    return titled(conversion.shown(stored) if conversion else stored, served)


def read(record: Record, served: ResourceInfo) -> Object:
    """A copy of one's own, in this version."""
    obj: Object = msgspec.json.decode(record.value)
    if record.revision <= served.since:
        custom_resources.settle(obj, served.stored_schema)
    return back(obj, served)


def shown(record: Record, served: ResourceInfo) -> bytes:
    """The object's bytes in the version of `served`."""
    return _after(record, served, prefix(served.kind, served.api_version))


def untitled(record: Record, served: ResourceInfo) -> bytes:
    """As an item of a list: items of built-in kinds carry no kind of their own."""
    return shown(record, served) if served.definition is not None else _after(record, served, b"{")


def _after(record: Record, served: ResourceInfo, begins: bytes) -> bytes:
    """The object's bytes with another beginning."""
    if served.kept_as is None and record.revision > served.since:
        held = prefix(served.kind, stored_api_version(served))
        if held == begins:
            return record.value
        if record.value.startswith(held):
            return begins + record.value[len(held) :]
    encoded = msgspec.json.encode(read(record, served))
    return begins + encoded[len(prefix(served.kind, served.api_version)) :]
