"""PATCH: which kind of patch it is, and what it makes of an object."""

from __future__ import annotations

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.patches import apply, json_patch, merge_patch, strategic_merge
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.endpoints import apply_bodies, create, patch_bodies, update
from traincrew.embedded.apiserver.endpoints.patch_bodies import Made
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
OF_CUSTOM = (JSON, MERGE, APPLY)


async def patch(cluster: RequestScope, call: Request) -> Response:
    kind = _kind(call)
    options = query_parameters.write_options(call.query, "PatchOptions", call.agent, _faults(call, kind))
    if kind == APPLY:
        return await _apply(cluster, call, options)
    return await update.change(cluster, call, options, lambda before: _patched(call, kind, before, options.validation))


def _kind(call: Request) -> str:
    kind = call.content_type.partition(";")[0].strip().lower()
    if kind in OF_CUSTOM or (kind == STRATEGIC and call.served.definition is None):
        return kind
    if call.served.definition is None:
        raise api_errors.routed(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    told = "the body of the request was in an unknown format - accepted media types include:"
    raise api_errors.unsupported_media_type(f"{told} {', '.join(OF_CUSTOM)}")


def _faults(call: Request, kind: str) -> list[field_errors.FieldError]:
    if kind == APPLY:
        missing = not call.query.text("fieldManager")
        return [field_errors.required("fieldManager", "is required for apply patch")] if missing else []
    return [field_errors.forbidden("force", "may not be specified for non-apply patch")] if call.query.given("force") else []


async def _patched(call: Request, kind: str, before: Object, validation: str) -> update.Wanted:
    after, warnings = patch_bodies.checked(_made(call, kind, before, validation), patch_bodies.form(call.served), validation)
    update.check_identity(call, after.get("metadata") or {})
    return update.Wanted(after, warnings)


def _made(call: Request, kind: str, before: Object, validation: str) -> Made:
    content, twice = patch_bodies.read(call)
    if kind == JSON:
        lenient = validation == "Ignore"
        after = json_patch.apply(before, content, lenient=lenient)
        return Made(
            after, [] if lenient else [*(f"json patch {each}" for each in twice), *json_patch.unknown_fields(content or [])]
        )
    if kind == MERGE:
        return Made(merge_patch.apply(before, content), twice)
    return Made(strategic_merge.apply(before, content, call.served.schema), twice, content or {})


async def _apply(cluster: RequestScope, call: Request, options: query_parameters.WriteOptions) -> Response:
    applied = apply_bodies.read(call)

    def merged(live: Object | None) -> update.Wanted:
        written = update.writing(cluster, call, options.manager)
        after = apply.apply(live, applied.object, call.served.schema, force=bool(options.force), **written)
        warnings = applied.warnings(options.validation)
        update.check_identity(call, after["metadata"])
        return update.Wanted(after, warnings, applied=True)

    if cluster.store.head(update.key_of(call)) is None:
        if call.subresource:
            raise api_errors.not_found(call.subject)
        wanted = merged(None)
        return await create.store_instead(cluster, call, wanted.object, options, wanted.warnings)

    async def transform(before: Object) -> update.Wanted:
        return merged(before)

    return await update.change(cluster, call, options, transform)
