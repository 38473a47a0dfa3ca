"""Creates: from posted bytes to a stored object."""

from __future__ import annotations

import random

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.patches import field_managers
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.admission import chain
from traincrew.embedded.apiserver.endpoints import owner_references, request_bodies, update, version_conversion
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, decoded, encoded
from traincrew.embedded.apiserver.storage.errors import RevisionConflict
from traincrew.embedded.apiserver.storage.records import Key, Record

SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names: no vowels, so that no word comes out."""
NAME_ATTEMPTS = 8
APPLIED_BY_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
MISMATCH = "the namespace of the provided object does not match the namespace sent on the request"
NEVER_FROM_CLIENT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion")


async def create(scope: RequestScope, request: Request) -> Response:
    options = query_parameters.write_options(request.query, "CreateOptions", request.agent)
    obj, warnings = request_bodies.decoded(request, options.validation)
    return await store_new(scope, request, obj, options, warnings)


async def store_instead(
    scope: RequestScope, request: Request, obj: Object, options: query_parameters.WriteOptions, warnings: tuple[str, ...]
) -> Response:
    """What was to be changed is not there and is made: by an apply, or by an update of some kinds."""
    scope.authorize(request.user, request._replace(verb="create").asked)
    if uid := obj["metadata"].get("uid"):
        told = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise api_errors.conflict(request.subject, told)
    bare = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return await store_new(scope, request, obj | {"metadata": bare}, options, warnings)


async def store_new(
    scope: RequestScope, request: Request, obj: Object, options: query_parameters.WriteOptions, warnings: tuple[str, ...] = ()
) -> Response:
    chain.check_namespace(scope, request._replace(name=str((obj.get("metadata") or {}).get("name") or "")))
    obj = _born(scope, request, obj)
    generated = not obj["metadata"].get("name")
    for attempt in range(NAME_ATTEMPTS):
        fresh = dict(obj) | {"metadata": dict(obj["metadata"])} if generated else obj
        if generated:
            fresh["metadata"]["name"] = _generated(str(obj["metadata"].get("generateName", "")))
        try:
            return await _put(scope, request, fresh, options, warnings)
        except RevisionConflict as stale:
            if not generated or attempt == NAME_ATTEMPTS - 1:
                raise _taken(request, str(fresh["metadata"]["name"]), stale.current) from None
    raise AssertionError("unreachable")


def _taken(request: Request, name: str, holder: Record | None) -> api_errors.StatusError:
    refusal = api_errors.already_exists(api_errors.StatusDetails(request.info.plural, request.info.group, name))
    if holder and decoded(holder)["metadata"].get("deletionTimestamp"):
        refusal.message = f"object is being deleted: {refusal.message}"
    return refusal


async def _put(
    scope: RequestScope, request: Request, obj: Object, options: query_parameters.WriteOptions, warnings: tuple[str, ...]
) -> Response:
    info, strategy = request.info, scope.strategy(request.info)
    strategy.default(obj)
    warnings = (*owner_references.once(obj, request.verb == "patch"), *warnings)
    if request.verb != "patch" and _is_owned(obj["metadata"]):  # an apply has settled that already
        field_managers.updated(None, obj, info.schema, **update.writing(scope, request, options.manager))
    key = Key(info.store_name, request.namespace, str(obj["metadata"]["name"]))
    strategy.prepare_create(obj, chain.context(scope, request, obj))
    if faults := strategy.validate(obj):
        raise api_errors.invalid(info.kind, (info.kept_as or info).group, key.name, faults)
    warned = [*warnings, *chain.admit_new(scope, request, obj)]
    warned += strategy.warnings(obj)
    stored = version_conversion.kept(obj, info)
    if options.dry_run:
        if (holder := scope.store.head(key)) is not None:
            raise RevisionConflict(holder)
        return Response(201, encoded(version_conversion.back(stored, info)), tuple(warned))
    record = await scope.store.put(key, stored, 0)
    await chain.after_create(scope, request, record)
    return Response(201, version_conversion.shown(record, info), tuple(warned))


def _is_owned(meta: Object) -> bool:
    """Owners are kept from the first apply on; kubectl's own is one, and it may go on with server-side applies."""
    return "managedFields" in meta or APPLIED_BY_KUBECTL in (meta.get("annotations") or ())


def _born(scope: RequestScope, request: Request, obj: Object) -> Object:
    meta = obj.get("metadata") or {}
    if (meta.get("resourceVersion") or "0") != "0":
        raise api_errors.StatusError(500, "", "resourceVersion should not be set on objects to be created")
    _check_namespace(request, meta)
    _check_name(request, meta)
    kept = {key: value for key, value in meta.items() if key not in NEVER_FROM_CLIENT and value is not None}
    if request.info.namespaced:
        kept["namespace"] = request.namespace
    kept["uid"] = scope.new_uid()
    kept["creationTimestamp"] = scope.now()
    return obj | {"metadata": kept}


def _check_namespace(request: Request, meta: Object) -> None:
    if not request.info.namespaced:
        meta.pop("namespace", None)
    elif meta.get("namespace") and meta["namespace"] != request.namespace:
        raise api_errors.bad_request(MISMATCH)


def _check_name(request: Request, meta: Object) -> None:
    if request.name and meta.get("name") and meta["name"] != request.name:
        raise api_errors.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({request.name})"
        )
    if not meta.get("name") and not meta.get("generateName"):
        fault = field_errors.required("metadata.name", "name or generateName is required")
        raise api_errors.invalid(request.info.kind, request.info.group, "", [fault])


def _generated(prefix: str) -> str:
    chosen = "".join(random.choices(SUFFIX, k=5))
    return prefix[: 63 - 5] + chosen
