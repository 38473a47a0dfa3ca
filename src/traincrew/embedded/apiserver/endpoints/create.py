"""POST of a new object; and updates and applies that create the object."""

from __future__ import annotations

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import request_bodies, unmanaged_objects, write_path
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.query_parameters import WriteOptions
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope


async def create(scope: RequestScope, request: ApiRequest) -> Response:
    options = query_parameters.write_options(request.query, "CreateOptions", request.agent)
    obj, warnings = request_bodies.decoded(request, options.validation)
    response = await write_path.create(scope, request, options, obj, warnings)
    return await unmanaged_objects.report(scope, request, options, response)


async def create_on_update(
    scope: RequestScope, request: ApiRequest, options: WriteOptions, obj: Object, warnings: tuple[str, ...]
) -> Response:
    """The object of an apply, or of an update of some kinds, does not exist yet."""
    scope.authorize(request.user, request._replace(verb="create").asked)
    if uid := obj["metadata"].get("uid"):
        message = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise api_errors.conflict(request.subject, message)
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    response = await write_path.create(scope, request, options, obj | {"metadata": metadata}, warnings)
    return await unmanaged_objects.report(scope, request, options, response)
