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


async def update(cluster: RequestScope, call: Request) -> Response:
    options = query_parameters.write_options(call.query, "UpdateOptions", call.agent)
    obj, warnings = request_bodies.decoded(call, options.validation)
    meta = obj.setdefault("metadata", {})
    endpoints_update.check_identity(call, meta)
    if _creates(cluster, call):
        _check_uid(call, meta, "")
        return await create.store_instead(cluster, call, obj, options, warnings)

    async def replaced(before: Object) -> endpoints_update.Wanted:
        _check_uid(call, meta, before["metadata"]["uid"])
        if "managedFields" not in meta and "managedFields" in before["metadata"]:
            obj["metadata"] = meta | {"managedFields": before["metadata"]["managedFields"]}
        return endpoints_update.Wanted(dict(obj), warnings)

    return await endpoints_update.change(cluster, call, options, replaced)


def _creates(cluster: RequestScope, call: Request) -> bool:
    missing = cluster.store.head(endpoints_update.key_of(call)) is None
    return missing and not call.subresource and cluster.strategy(call.served).created_by_update


def _check_uid(call: Request, meta: Object, held: str) -> None:
    """Whoever names a uid means no other object. In the words of an API server on etcd."""
    asked, served = meta.get("uid"), call.served
    if not asked or asked == held:
        return
    shelf = f"{served.group}/{served.plural}" if served.definition else SHELVES.get(served.store_name, served.plural)
    place = "/".join(each for each in (shelf, call.namespace, call.name) if each)
    why = f"Precondition failed: UID in precondition: {asked}, UID in object meta: {held}"
    told = f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    raise api_errors.conflict(call.subject, told)
