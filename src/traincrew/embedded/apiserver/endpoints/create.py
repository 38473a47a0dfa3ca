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
from traincrew.embedded.apiserver.storage.errors import Stale
from traincrew.embedded.apiserver.storage.records import Key, Record

SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names: no vowels, so that no word comes out."""
NAME_ATTEMPTS = 8
APPLIED_BY_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
MISMATCH = "the namespace of the provided object does not match the namespace sent on the request"
NEVER_FROM_CLIENT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion")


async def create(cluster: RequestScope, call: Request) -> Response:
    options = query_parameters.write_options(call.query, "CreateOptions", call.agent)
    obj, warnings = request_bodies.decoded(call, options.validation)
    return await store_new(cluster, call, obj, options, warnings)


async def store_instead(
    cluster: RequestScope, call: Request, obj: Object, options: query_parameters.WriteOptions, warnings: tuple[str, ...]
) -> Response:
    """What was to be changed is not there and is made: by an apply, or by an update of some kinds."""
    cluster.authorize(call.user, call._replace(verb="create").asked)
    if uid := obj["metadata"].get("uid"):
        told = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise api_errors.conflict(call.subject, told)
    bare = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return await store_new(cluster, call, obj | {"metadata": bare}, options, warnings)


async def store_new(
    cluster: RequestScope, call: Request, obj: Object, options: query_parameters.WriteOptions, warnings: tuple[str, ...] = ()
) -> Response:
    chain.check_namespace(cluster, call._replace(name=str((obj.get("metadata") or {}).get("name") or "")))
    obj = _born(cluster, call, obj)
    generated = not obj["metadata"].get("name")
    for attempt in range(NAME_ATTEMPTS):
        fresh = dict(obj) | {"metadata": dict(obj["metadata"])} if generated else obj
        if generated:
            fresh["metadata"]["name"] = _generated(str(obj["metadata"].get("generateName", "")))
        try:
            return await _put(cluster, call, fresh, options, warnings)
        except Stale as stale:
            if not generated or attempt == NAME_ATTEMPTS - 1:
                raise _taken(call, str(fresh["metadata"]["name"]), stale.current) from None
    raise AssertionError("unreachable")


def _taken(call: Request, name: str, holder: Record | None) -> api_errors.StatusError:
    refusal = api_errors.already_exists(api_errors.StatusDetails(call.served.plural, call.served.group, name))
    if holder and decoded(holder)["metadata"].get("deletionTimestamp"):
        refusal.message = f"object is being deleted: {refusal.message}"
    return refusal


async def _put(
    cluster: RequestScope, call: Request, obj: Object, options: query_parameters.WriteOptions, warnings: tuple[str, ...]
) -> Response:
    served, strategy = call.served, cluster.strategy(call.served)
    strategy.default(obj)
    warnings = (*owner_references.once(obj, call.verb == "patch"), *warnings)
    if call.verb != "patch" and _is_owned(obj["metadata"]):  # an apply has settled that already
        field_managers.updated(None, obj, served.schema, **update.writing(cluster, call, options.manager))
    key = Key(served.store_name, call.namespace, str(obj["metadata"]["name"]))
    strategy.prepare_create(obj, chain.context(cluster, call, obj))
    if faults := strategy.validate(obj):
        raise api_errors.invalid(served.kind, (served.kept_as or served).group, key.name, faults)
    warned = [*warnings, *chain.admit_new(cluster, call, obj)]
    warned += strategy.warnings(obj)
    stored = version_conversion.kept(obj, served)
    if options.dry_run:
        if (holder := cluster.store.head(key)) is not None:
            raise Stale(holder)
        return Response(201, encoded(version_conversion.back(stored, served)), tuple(warned))
    record = await cluster.store.put(key, stored, 0)
    await chain.after_create(cluster, call, record)
    return Response(201, version_conversion.shown(record, served), tuple(warned))


def _is_owned(meta: Object) -> bool:
    """Owners are kept from the first apply on; kubectl's own is one, and it may go on with server-side applies."""
    return "managedFields" in meta or APPLIED_BY_KUBECTL in (meta.get("annotations") or ())


def _born(cluster: RequestScope, call: Request, obj: Object) -> Object:
    meta = obj.get("metadata") or {}
    if (meta.get("resourceVersion") or "0") != "0":
        raise api_errors.StatusError(500, "", "resourceVersion should not be set on objects to be created")
    _check_namespace(call, meta)
    _check_name(call, meta)
    kept = {key: value for key, value in meta.items() if key not in NEVER_FROM_CLIENT and value is not None}
    if call.served.namespaced:
        kept["namespace"] = call.namespace
    kept["uid"] = cluster.new_uid()
    kept["creationTimestamp"] = cluster.now()
    return obj | {"metadata": kept}


def _check_namespace(call: Request, meta: Object) -> None:
    if not call.served.namespaced:
        meta.pop("namespace", None)
    elif meta.get("namespace") and meta["namespace"] != call.namespace:
        raise api_errors.bad_request(MISMATCH)


def _check_name(call: Request, meta: Object) -> None:
    if call.name and meta.get("name") and meta["name"] != call.name:
        raise api_errors.bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})")
    if not meta.get("name") and not meta.get("generateName"):
        fault = field_errors.required("metadata.name", "name or generateName is required")
        raise api_errors.invalid(call.served.kind, call.served.group, "", [fault])


def _generated(prefix: str) -> str:
    chosen = "".join(random.choices(SUFFIX, k=5))
    return prefix[: 63 - 5] + chosen
