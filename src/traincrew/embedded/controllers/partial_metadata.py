"""Objects of which only the metadata is kept. PURE."""

from __future__ import annotations

import msgspec

from traincrew.model import meta


class ObjectMeta(meta.Meta):
    finalizers: list[str] = []


class PartialObjectMetadata(meta.Struct):
    metadata: ObjectMeta = ObjectMeta()


class _Fields(msgspec.Struct, rename="camel"):
    """The fields that are kept: labels and annotations of all objects would need much memory."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: list[meta.OwnerReference] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: meta.Time | None = None


class _Object(msgspec.Struct):
    metadata: _Fields


_decode = msgspec.json.Decoder(_Object).decode


_EMPTY_MAP: dict[str, str] = {}


def decode(raw: bytes) -> PartialObjectMetadata:
    fields = _decode(raw).metadata
    return PartialObjectMetadata(
        metadata=ObjectMeta(
            name=fields.name,
            namespace=fields.namespace,
            uid=fields.uid,
            resource_version=fields.resource_version,
            owner_references=fields.owner_references or [],
            finalizers=fields.finalizers or [],
            deletion_timestamp=fields.deletion_timestamp,
            labels=_EMPTY_MAP,
            annotations=_EMPTY_MAP,
        )
    )
