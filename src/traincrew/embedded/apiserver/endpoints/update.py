"""PUT: replaces an object. Some kinds are created by a PUT, too."""

from __future__ import annotations

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import create, request_bodies, system_fields, write_path
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope

ETCD_PREFIXES = {"services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions"}


async def update(scope: RequestScope, request: ApiRequest) -> Response:
    options = query_parameters.write_options(request.query, "UpdateOptions", request.agent)
    obj, warnings = request_bodies.decoded(request, options.validation)
    metadata = obj.setdefault("metadata", {})
    system_fields.check_identity(request, metadata)
    if _creates(scope, request):
        _check_uid(request, metadata, "")
        return await create.create_on_update(scope, request, options, obj, warnings)

    async def replace(old: Object) -> write_path.UpdatedObject:
        _check_uid(request, metadata, old["metadata"]["uid"])
        if "managedFields" not in metadata and "managedFields" in old["metadata"]:
            obj["metadata"] = metadata | {"managedFields": old["metadata"]["managedFields"]}
        return write_path.UpdatedObject(dict(obj), warnings)

    return await write_path.update(scope, request, options, replace)


def _creates(scope: RequestScope, request: ApiRequest) -> bool:
    missing = scope.store.head(request.key) is None
    return missing and not request.subresource and scope.strategy(request.info).allow_create_on_update


def _check_uid(request: ApiRequest, metadata: Object, stored: str) -> None:
    """A uid is a precondition. The message is that of kube-apiserver, with the key of the object in etcd."""
    uid, info = metadata.get("uid"), request.info
    if not uid or uid == stored:
        return
    prefix = f"{info.group}/{info.plural}" if info.definition else ETCD_PREFIXES.get(info.store_name, info.plural)
    key = "/".join(each for each in (prefix, request.namespace, request.name) if each)
    why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}"
    message = f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    raise api_errors.conflict(request.subject, message)
