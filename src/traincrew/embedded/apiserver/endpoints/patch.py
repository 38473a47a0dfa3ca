"""PATCH: JSON patch, merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.patches import apply, json_patch, merge_patch, strategic_merge
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import apply_bodies, create, field_manager, patch_bodies, system_fields, write_path
from traincrew.embedded.apiserver.endpoints.patch_bodies import PatchedObject
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
CUSTOM_RESOURCE_TYPES = (JSON, MERGE, APPLY)


async def patch(scope: RequestScope, request: ApiRequest) -> Response:
    kind = _kind(request)
    options = query_parameters.write_options(request.query, "PatchOptions", request.agent, _option_errors(request, kind))
    if kind == APPLY:
        return await _apply(scope, request, options)
    return await write_path.update(scope, request, options, lambda before: _patched(request, kind, before, options.validation))


def _kind(request: ApiRequest) -> str:
    kind = request.content_type.partition(";")[0].strip().lower()
    if kind in CUSTOM_RESOURCE_TYPES or (kind == STRATEGIC and request.info.definition is None):
        return kind
    if request.info.definition is None:
        raise api_errors.router_error(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    message = "the body of the request was in an unknown format - accepted media types include:"
    raise api_errors.unsupported_media_type(f"{message} {', '.join(CUSTOM_RESOURCE_TYPES)}")


def _option_errors(request: ApiRequest, kind: str) -> list[field_errors.FieldError]:
    if kind == APPLY:
        missing = not request.query.text("fieldManager")
        return [field_errors.required("fieldManager", "is required for apply patch")] if missing else []
    return [field_errors.forbidden("force", "may not be specified for non-apply patch")] if request.query.given("force") else []


async def _patched(request: ApiRequest, kind: str, before: Object, validation: str) -> write_path.UpdatedObject:
    after, warnings = patch_bodies.decode(
        _apply_patch(request, kind, before, validation), patch_bodies.decoder(request.info), validation
    )
    system_fields.check_identity(request, after.get("metadata") or {})
    return write_path.UpdatedObject(after, warnings)


def _apply_patch(request: ApiRequest, kind: str, before: Object, validation: str) -> PatchedObject:
    content, twice = patch_bodies.read(request)
    if kind == JSON:
        lenient = validation == "Ignore"
        after = json_patch.apply(before, content, lenient=lenient)
        return PatchedObject(
            after, [] if lenient else [*(f"json patch {each}" for each in twice), *json_patch.unknown_fields(content or [])]
        )
    if kind == MERGE:
        return PatchedObject(merge_patch.apply(before, content), twice)
    return PatchedObject(strategic_merge.apply(before, content, request.info.schema), twice, content or {})


async def _apply(scope: RequestScope, request: ApiRequest, options: query_parameters.WriteOptions) -> Response:
    applied = apply_bodies.read(request)

    def merged(live: Object | None) -> write_path.UpdatedObject:
        context = field_manager.write_context(scope, request, options.manager)
        after = apply.apply(live, applied.object, request.info.schema, force=bool(options.force), **context)
        warnings = applied.warnings(options.validation)
        system_fields.check_identity(request, after["metadata"])
        return write_path.UpdatedObject(after, warnings, applied=True)

    if scope.store.head(request.key) is None:
        if request.subresource:
            raise api_errors.not_found(request.subject)
        desired = merged(None)
        return await create.create_on_update(scope, request, options, desired.object, desired.warnings)

    async def transform(before: Object) -> write_path.UpdatedObject:
        return merged(before)

    return await write_path.update(scope, request, options, transform)
