"""Managed fields: which field manager a write is attributed to."""

from __future__ import annotations

from traincrew.apimachinery.patches import last_applied
from traincrew.apimachinery.patches.managed_fields import WriteContextFields
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.apiserver.requests.scope import RequestScope

RESET_BY_STATUS = {
    "Deployment": {("metadata", "labels")},
    "Pod": {("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")},
}


def is_tracked(metadata: Object) -> bool:
    """Managed fields are kept from the first apply on. A client-side apply of kubectl may go on as a server-side apply."""
    return "managedFields" in metadata or last_applied.ANNOTATION in (metadata.get("annotations") or ())


def write_context(scope: RequestScope, request: ApiRequest, manager: str) -> WriteContextFields:
    info = request.info
    schemas = {each.api_version: each.schema for each in scope.registry.versions(info)} if info.definition else None
    return WriteContextFields(
        manager=manager, now=scope.now(), subresource=request.subresource, reset=_reset(request), versions=schemas
    )


def _reset(request: ApiRequest) -> frozenset[tuple[str, ...]]:
    """The fields that this subresource cannot write, so that no manager takes ownership of them."""
    if request.subresource == "status":
        more = RESET_BY_STATUS.get(request.info.kind, set()) if request.info.definition is None else set()
        return frozenset({("spec",), *more})
    return frozenset({("status",)}) if request.info.subresource("status") else frozenset()
