"""PATCH: which kind of patch it is, and what it makes of an object."""

from __future__ import annotations

from traincrew.embedded import refusals
from traincrew.embedded.api import bodies, changing, creating, queries
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster
from traincrew.embedded.patches import apply, json, merge, strategic
from traincrew.embedded.served import Object

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
KNOWN = (JSON, MERGE, STRATEGIC, APPLY)


async def patch(cluster: Cluster, call: Call) -> Answer:
    kind = call.content_type.partition(";")[0].strip().lower()
    allowed = tuple(each for each in KNOWN if each != STRATEGIC or call.served.definition is None)
    if kind not in allowed:
        raise refusals.unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {', '.join(allowed)}"
        )
    options = queries.write_options(call.query, "PatchOptions", call.agent)
    if kind == APPLY:
        return await _apply(cluster, call, options)
    if options.force is not None:
        raise queries.options_refused("PatchOptions", [bodies.force_only_with_apply()])
    content = bodies.patch_content(call)
    return await changing.change(cluster, call, options, lambda before: _patched(call, kind, content, before, options))


async def _patched(call: Call, kind: str, content: object, before: Object, options: queries.WriteOptions) -> changing.Wanted:
    held = before["metadata"]["resourceVersion"]
    if kind == JSON:
        after = json.apply(before, content)
    elif kind == MERGE:
        after = merge.apply(before, content)
    else:
        after = strategic.apply(before, content, call.served.schema)
    after, warnings = bodies.checked(call, after, options.validation)
    meta = after.get("metadata") or {}
    changing.check_still_itself(call, meta, before["metadata"])
    version = str(meta.get("resourceVersion") or "")
    return changing.Wanted(after, warnings, version if version != held else "")


async def _apply(cluster: Cluster, call: Call, options: queries.WriteOptions) -> Answer:
    if not call.query.text("fieldManager"):
        raise queries.options_refused("PatchOptions", [bodies.manager_required()])
    applied, warnings = bodies.applied(call, options.validation)

    def merged(live: Object | None) -> Object:
        written = changing.writing(cluster, call, options.manager)
        return apply.apply(live, applied, call.served.schema, force=bool(options.force), **written)

    if cluster.store.head(changing.key_of(call)) is None:
        if call.subresource:
            raise refusals.not_found(call.subject)
        return await creating.store_new(cluster, call, merged(None), options, warnings)

    async def transform(before: Object) -> changing.Wanted:
        version = str(applied.get("metadata", {}).get("resourceVersion") or "")
        return changing.Wanted(merged(before), warnings, version, applied=True)

    return await changing.change(cluster, call, options, transform)
