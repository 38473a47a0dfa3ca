"""PUT: an object takes the place of another; of some kinds, also the place of none."""

from __future__ import annotations

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.endpoints import create, request_bodies
from traincrew.embedded.apiserver.endpoints import update as endpoints_update
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope

SHELVES = {"services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions"}


async def update(scope: RequestScope, request: Request) -> Response:
    options = query_parameters.write_options(request.query, "UpdateOptions", request.agent)
    obj, warnings = request_bodies.decoded(request, options.validation)
    meta = obj.setdefault("metadata", {})
    endpoints_update.check_identity(request, meta)
    if _creates(scope, request):
        _check_uid(request, meta, "")
        return await create.store_instead(scope, request, obj, options, warnings)

    async def replaced(before: Object) -> endpoints_update.Wanted:
        _check_uid(request, meta, before["metadata"]["uid"])
        if "managedFields" not in meta and "managedFields" in before["metadata"]:
            obj["metadata"] = meta | {"managedFields": before["metadata"]["managedFields"]}
        return endpoints_update.Wanted(dict(obj), warnings)

    return await endpoints_update.change(scope, request, options, replaced)


def _creates(scope: RequestScope, request: Request) -> bool:
    missing = scope.store.head(endpoints_update.key_of(request)) is None
    return missing and not request.subresource and scope.strategy(request.info).created_by_update


def _check_uid(request: Request, meta: Object, held: str) -> None:
    """Whoever names a uid means no other object. In the words of an API server on etcd."""
    asked, info = meta.get("uid"), request.info
    if not asked or asked == held:
        return
    shelf = f"{info.group}/{info.plural}" if info.definition else SHELVES.get(info.store_name, info.plural)
    place = "/".join(each for each in (shelf, request.namespace, request.name) if each)
    why = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {held}"
    told = f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    raise api_errors.conflict(request.subject, told)
