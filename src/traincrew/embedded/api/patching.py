"""PATCH: which kind of patch it is, and what it makes of an object."""

from __future__ import annotations

from traincrew.embedded import fields, refusals
from traincrew.embedded.api import changing, configurations, creating, patchbodies, queries
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster
from traincrew.embedded.api.patchbodies import Made
from traincrew.embedded.patches import apply, json, merge, strategic
from traincrew.embedded.served import Object

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
OF_CUSTOM = (JSON, MERGE, APPLY)


async def patch(cluster: Cluster, call: Call) -> Answer:
    kind = _kind(call)
    options = queries.write_options(call.query, "PatchOptions", call.agent, _faults(call, kind))
    if kind == APPLY:
        return await _apply(cluster, call, options)
    return await changing.change(cluster, call, options, lambda before: _patched(call, kind, before, options.validation))


def _kind(call: Call) -> str:
    kind = call.content_type.partition(";")[0].strip().lower()
    if kind in OF_CUSTOM or (kind == STRATEGIC and call.served.definition is None):
        return kind
    if call.served.definition is None:
        raise refusals.routed(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    told = "the body of the request was in an unknown format - accepted media types include:"
    raise refusals.unsupported_media_type(f"{told} {', '.join(OF_CUSTOM)}")


def _faults(call: Call, kind: str) -> list[fields.FieldError]:
    if kind == APPLY:
        missing = not call.query.text("fieldManager")
        return [fields.required("fieldManager", "is required for apply patch")] if missing else []
    return [fields.forbidden("force", "may not be specified for non-apply patch")] if call.query.given("force") else []


async def _patched(call: Call, kind: str, before: Object, validation: str) -> changing.Wanted:
    after, warnings = patchbodies.checked(_made(call, kind, before, validation), patchbodies.form(call.served), validation)
    changing.check_identity(call, after.get("metadata") or {})
    return changing.Wanted(after, warnings)


def _made(call: Call, kind: str, before: Object, validation: str) -> Made:
    content, twice = patchbodies.read(call)
    if kind == JSON:
        lenient = validation == "Ignore"
        after = json.apply(before, content, lenient=lenient)
        return Made(after, [] if lenient else [*(f"json patch {each}" for each in twice), *json.unknown_fields(content or [])])
    if kind == MERGE:
        return Made(merge.apply(before, content), twice)
    return Made(strategic.apply(before, content, call.served.schema), twice, content or {})


async def _apply(cluster: Cluster, call: Call, options: queries.WriteOptions) -> Answer:
    applied = configurations.read(call)

    def merged(live: Object | None) -> changing.Wanted:
        written = changing.writing(cluster, call, options.manager)
        after = apply.apply(live, applied.object, call.served.schema, force=bool(options.force), **written)
        warnings = applied.warnings(options.validation)
        changing.check_identity(call, after["metadata"])
        return changing.Wanted(after, warnings, applied=True)

    if cluster.store.head(changing.key_of(call)) is None:
        if call.subresource:
            raise refusals.not_found(call.subject)
        wanted = merged(None)
        return await creating.store_instead(cluster, call, wanted.object, options, wanted.warnings)

    async def transform(before: Object) -> changing.Wanted:
        return merged(before)

    return await changing.change(cluster, call, options, transform)
