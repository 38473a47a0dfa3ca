"""PartialObjectMetadata: objects of which only the metadata is wanted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.resource_info import Object, ResourceInfo


class _Envelope(msgspec.Struct):
    metadata: msgspec.Raw


_envelope = msgspec.json.Decoder(_Envelope).decode


def one(kept: Object | bytes, version: str = "v1") -> Object:
    """Of an object given as bytes, the metadata is not decoded: it comes back as msgspec.Raw."""
    metadata = _envelope(kept).metadata if isinstance(kept, bytes) else kept["metadata"]
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata}


def many(served: ResourceInfo, objects: Sequence[Object | bytes], version: str, list_metadata: Object) -> Object:
    empty: list[Object] | None = [] if served.definition is None else None
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": list_metadata,
        "items": [one(kept, version) for kept in objects] or empty,
    }


def not_a_list(served: ResourceInfo) -> StatusError:
    """PartialObjectMetadataList was asked of one object."""
    message = f"you requested PartialObjectMetadataList, but the requested object is not a list ({_go_type(served, '')})"
    return StatusError(406, "NotAcceptable", message)


def a_list(served: ResourceInfo) -> StatusError:
    """PartialObjectMetadata was asked of a list."""
    message = f"you requested PartialObjectMetadata, but the requested object is a list ({_go_type(served, 'List')})"
    return StatusError(406, "NotAcceptable", message)


def _go_type(served: ResourceInfo, suffix: str) -> str:
    if served.definition is not None:
        return f"*unstructured.Unstructured{suffix}"
    family = served.group.partition(".")[0] or "core"
    return f"*{'core' if family == 'events' else family}.{served.kind}{suffix}"
