"""Objects in the version that was asked for. Conversion between versions is by name only, as CRDs without a webhook have it."""

from __future__ import annotations

import msgspec

from traincrew.embedded.served import Object, Served
from traincrew.embedded.store.records import Record


def prefix(served: Served) -> bytes:
    """How every stored object of this version begins."""
    return b'{"kind":%s,"apiVersion":%s,' % (msgspec.json.encode(served.kind), msgspec.json.encode(served.api_version))


def titled(obj: Object, served: Served) -> Object:
    """The object with kind and apiVersion of that version, in front."""
    return {"kind": served.kind, "apiVersion": served.api_version} | {
        key: value for key, value in obj.items() if key not in ("kind", "apiVersion")
    }


def stored_api_version(served: Served) -> str:
    version = served.storage_version or served.version
    return f"{served.group}/{version}" if served.group else version


def shown(record: Record, served: Served) -> bytes:
    """The object's bytes in the version of `served`."""
    begins = prefix(served)
    if record.value.startswith(begins):
        return record.value
    other = stored_prefix(served)
    if record.value.startswith(other):
        return begins + record.value[len(other) :]
    return msgspec.json.encode(titled(msgspec.json.decode(record.value), served))


def stored_prefix(served: Served) -> bytes:
    return b'{"kind":%s,"apiVersion":%s,' % (msgspec.json.encode(served.kind), msgspec.json.encode(stored_api_version(served)))


def untitled(record: Record, served: Served) -> bytes:
    """As an item of a list: items of built-in kinds carry no kind of their own."""
    if served.definition is not None:
        return shown(record, served)
    begins = prefix(served)
    if record.value.startswith(begins):
        return b"{" + record.value[len(begins) :]
    obj = msgspec.json.decode(record.value)
    return msgspec.json.encode({key: value for key, value in obj.items() if key not in ("kind", "apiVersion")})
