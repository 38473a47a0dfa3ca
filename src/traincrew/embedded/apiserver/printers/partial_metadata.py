"""PartialObjectMetadata: the metadata of objects only."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object


class _Envelope(msgspec.Struct):
    metadata: msgspec.Raw


_envelope = msgspec.json.Decoder(_Envelope).decode


def object_metadata(kept: Object | bytes, version: str = "v1") -> Object:
    """For an object given as bytes, the metadata is not decoded but returned as msgspec.Raw."""
    metadata = _envelope(kept).metadata if isinstance(kept, bytes) else kept["metadata"]
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata}


def metadata_list(info: ResourceInfo, objects: Sequence[Object | bytes], version: str, list_metadata: Object) -> Object:
    empty: list[Object] | None = [] if info.definition is None else None
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": list_metadata,
        "items": [object_metadata(kept, version) for kept in objects] or empty,
    }


def not_a_list(info: ResourceInfo) -> StatusError:
    """PartialObjectMetadataList was requested for one object."""
    message = f"you requested PartialObjectMetadataList, but the requested object is not a list ({_go_type(info, '')})"
    return StatusError(406, "NotAcceptable", message)


def a_list(info: ResourceInfo) -> StatusError:
    """PartialObjectMetadata was requested for a list."""
    message = f"you requested PartialObjectMetadata, but the requested object is a list ({_go_type(info, 'List')})"
    return StatusError(406, "NotAcceptable", message)


def _go_type(info: ResourceInfo, suffix: str) -> str:
    if info.definition is not None:
        return f"*unstructured.Unstructured{suffix}"
    family = info.group.partition(".")[0] or "core"
    return f"*{'core' if family == 'events' else family}.{info.kind}{suffix}"
