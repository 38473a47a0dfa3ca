"""DELETE: at once, after the grace period, or when the last finalizer is removed."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission import chain
from traincrew.embedded.apiserver.admission.attributes import DELETE, AdmissionAttributes
from traincrew.embedded.apiserver.endpoints import graceful_deletion, lists, request_bodies, version_conversion
from traincrew.embedded.apiserver.endpoints.graceful_deletion import DeleteOptions
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, decoded, encoded
from traincrew.embedded.apiserver.storage.errors import RevisionConflict
from traincrew.embedded.apiserver.storage.records import Record

POLICIES = ("Background", "Foreground", "Orphan")
RETURN_DELETED_OBJECT = {
    "pods", "services", "serviceaccounts", "persistentvolumes", "persistentvolumeclaims", "resourcequotas",
    "storageclasses.storage.k8s.io",
}  # fmt: skip
"""Resources whose deletion returns the object. The others return a Status."""
PODS = "pods"
ORPHAN_WARNING = (
    "child pods are preserved by default when {} are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
ORPHANED_BY_DEFAULT = ("jobs.batch",)
ATTEMPTS = 5


def read_options(request: ApiRequest) -> DeleteOptions:
    """From the body or, without a body, from the query."""
    given = request_bodies.delete_options(request)
    if given is None:
        given = _query_options(request.query)
    policy, orphan, dry_run = given.get("propagationPolicy"), given.get("orphanDependents"), given.get("dryRun") or ()
    if errors := [*query_parameters.dry_run_errors(dry_run), *_policy_errors(policy, orphan)]:
        raise query_parameters.invalid_options("DeleteOptions", errors)
    conditions = given.get("preconditions") or {}
    uid, version = conditions.get("uid") or "", conditions.get("resourceVersion") or ""
    return DeleteOptions(given.get("gracePeriodSeconds"), policy or "", uid, version, bool(dry_run), orphan)


def _query_options(query: query_parameters.Query) -> Object:
    return {
        "gracePeriodSeconds": query.number("gracePeriodSeconds"),
        "propagationPolicy": query.text("propagationPolicy"),
        "orphanDependents": query.flag("orphanDependents") if query.given("orphanDependents") else None,
        "dryRun": query.all("dryRun"),
    }


def _policy_errors(policy: Any, orphan: Any) -> list[field_errors.FieldError]:
    if policy and orphan is not None:
        message = "orphanDependents and deletionPropagation cannot be both set"
        return [field_errors.invalid("propagationPolicy", policy, message)]
    if policy and policy not in POLICIES:
        known = ["Foreground", "Background", "Orphan", "nil"]
        return [field_errors.not_supported("propagationPolicy", policy, known)]
    return []


async def delete(scope: RequestScope, request: ApiRequest) -> Response:
    options = read_options(request)
    attributes = AdmissionAttributes(DELETE, request.info, request.namespace, request.name, request.subresource, {})
    chain.of(scope).admit(attributes)
    response = await _delete_with_retries(scope, request, options)
    if request.info.store_name in ORPHANED_BY_DEFAULT and not options.policy and options.orphan is None:
        response.warnings += (ORPHAN_WARNING.format(request.info.plural),)
    return response


async def _delete_with_retries(scope: RequestScope, request: ApiRequest, options: DeleteOptions) -> Response:
    for attempt in range(ATTEMPTS):
        record = scope.existing(request.info, request.namespace, request.name)
        try:
            return await _delete(scope, request, record, options)
        except RevisionConflict:
            if options.version or attempt == ATTEMPTS - 1:
                raise api_errors.optimistic_lock_conflict(request.subject) from None
    raise AssertionError("unreachable")


async def _delete(scope: RequestScope, request: ApiRequest, record: Record, options: DeleteOptions) -> Response:
    obj = decoded(record)
    check_preconditions(request, obj, options)
    marked = graceful_deletion.begin_deletion(obj, options, scope.clock(), scope.strategy(request.info).orphans_by_default)
    if marked is None:  # the deletion has begun already
        return Response(200, version_conversion.encoded_object(record, request.info))
    if graceful_deletion.is_ready_for_removal(marked) or not marked["metadata"].get("deletionTimestamp"):
        if request.info.store_name == PODS and not options.dry_run and marked != obj:
            return await _remove_after_update(scope, request, await scope.store.put(record.key, marked, record.revision), options)
        return await _remove(scope, request, record, options)
    if options.dry_run:
        return Response(200, encoded(version_conversion.from_storage(marked, request.info)))
    changed = await scope.store.put(record.key, marked, record.revision)
    return Response(200, version_conversion.encoded_object(changed, request.info))


async def _remove_after_update(scope: RequestScope, request: ApiRequest, record: Record, options: DeleteOptions) -> Response:
    """Watches of pods see the deletion timestamp before the removal. Meanwhile another request may have removed the pod."""
    try:
        return await _remove(scope, request, record, options)
    except RevisionConflict as conflict:
        if conflict.current is not None:
            raise
        return Response(200, version_conversion.encoded_object(record, request.info))


async def _remove(scope: RequestScope, request: ApiRequest, record: Record, options: DeleteOptions) -> Response:
    gone = record if options.dry_run else await scope.store.delete(record.key, record.revision)
    if request.info.store_name in RETURN_DELETED_OBJECT:
        return Response(200, version_conversion.encoded_object(gone, request.info))
    uid = msgspec.json.decode(gone.value)["metadata"]["uid"]
    details = {"name": request.name, "group": request.info.group, "kind": request.info.plural, "uid": uid}
    details = {key: value for key, value in details.items() if value}
    return Response(200, encoded({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}))


def check_preconditions(request: ApiRequest, obj: Object, options: DeleteOptions) -> None:
    meta = obj["metadata"]
    if options.uid and options.uid != meta["uid"]:
        raise _precondition_error(request, obj, ("UID", options.uid, meta["uid"]), "deleted and then recreated")
    if options.version and options.version != meta["resourceVersion"]:
        raise _precondition_error(request, obj, ("ResourceVersion", options.version, meta["resourceVersion"]), "modified")


def _precondition_error(
    request: ApiRequest, obj: Object, condition: tuple[str, str, str], happened: str
) -> api_errors.StatusError:
    name, requested, held = condition
    if graceful_deletion.is_deleted_by_controller(obj):
        message = f"Precondition failed: {name} in precondition: {requested}, {name} in object meta: {held}"
        return api_errors.conflict(request.subject, message)
    message = f"the {name} in the precondition ({requested}) does not match the {name} in record ({held})."
    subject = api_errors.StatusDetails(request.info.kind, request.info.group, request.name)
    return api_errors.conflict(subject, f"{message} The object might have been {happened}")


async def delete_collection(scope: RequestScope, request: ApiRequest) -> Response:
    request_bodies.delete_options(request)  # raises for a malformed body before anything is deleted
    listed = lists.list_records(scope, request)
    for record in listed.records:
        try:
            await delete(scope, request._replace(name=record.key.name, namespace=record.key.namespace))
        except api_errors.StatusError as error:
            if error.code != 404:
                raise
    return Response(200, b"".join(lists.encode_chunks(request, listed)))
