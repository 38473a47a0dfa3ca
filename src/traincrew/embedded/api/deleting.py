"""Deletes: at once, after a grace, or when the last finalizer has gone."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

import msgspec

from traincrew.embedded import fields, refusals
from traincrew.embedded.api import admission, bodies, listing, queries, versions
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster, decoded, encoded
from traincrew.embedded.served import Object, Served
from traincrew.embedded.store.faults import Stale
from traincrew.embedded.store.records import Record

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
POLICIES = ("Background", "Foreground", "Orphan")
SHOWN_WHEN_DELETED = {
    "pods", "services", "serviceaccounts", "persistentvolumes", "persistentvolumeclaims", "podtemplates", "resourcequotas",
}  # fmt: skip
"""Kinds whose deletion answers with the object; the others answer with a Status."""
PODS = "pods"
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a definition until the objects of its kind are gone."""
ATTEMPTS = 5


class Options(NamedTuple):
    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False
    orphan: bool | None = None


def options(call: Call) -> Options:
    """From the body, else from the query, as the API server reads them."""
    body = bodies.delete_options(call)
    query = call.query
    grace = body.get("gracePeriodSeconds") if body else query.number("gracePeriodSeconds")
    policy = body.get("propagationPolicy") if body else query.text("propagationPolicy")
    asked = query.flag("orphanDependents") if query.given("orphanDependents") else None
    orphan = body.get("orphanDependents") if body else asked
    conditions = (body or {}).get("preconditions") or {}
    faults: list[fields.FieldError] = []
    dry_run = queries.dry_run_fault([*((body or {}).get("dryRun") or ()), *query.all("dryRun")], faults)
    faults += _policy_faults(policy, orphan)
    if faults:
        raise queries.options_refused("DeleteOptions", faults)
    return Options(grace, policy or "", conditions.get("uid") or "", conditions.get("resourceVersion") or "", dry_run, orphan)


def _policy_faults(policy: Any, orphan: Any) -> list[fields.FieldError]:
    if policy and orphan is not None:
        told = "orphanDependents and deletionPropagation cannot be both set"
        return [fields.invalid("propagationPolicy", policy, told)]
    if policy and policy not in POLICIES:
        known = ["Foreground", "Background", "Orphan", "nil"]
        return [fields.not_supported("propagationPolicy", policy, known)]
    return []


def is_last_word(obj: Object) -> bool:
    """Deleted, nothing holds it any more: the write that made it so removes it."""
    meta = obj["metadata"]
    held = meta.get("finalizers") or (obj.get("kind") == "Namespace" and obj.get("spec", {}).get("finalizers"))
    return bool(meta.get("deletionTimestamp")) and not held and not meta.get("deletionGracePeriodSeconds")


async def delete(cluster: Cluster, call: Call) -> Answer:
    wanted = options(call)
    admission.check_mortal(call)
    for attempt in range(ATTEMPTS):
        record = cluster.existing(call.served, call.namespace, call.name)
        try:
            return await _delete(cluster, call, record, wanted)
        except Stale:
            if wanted.version or attempt == ATTEMPTS - 1:
                raise refusals.modified(call.subject) from None
    raise AssertionError("unreachable")


async def _delete(cluster: Cluster, call: Call, record: Record, wanted: Options) -> Answer:
    obj = decoded(record)
    _check_preconditions(call, obj, wanted)
    marked = _marked(cluster, call.served, obj, wanted)
    if marked is None:  # nothing to change: it waits already
        return Answer(200, versions.shown(record, call.served))
    if is_last_word(marked) or not marked["metadata"].get("deletionTimestamp"):
        if call.served.store_name == PODS and not wanted.dry_run:  # those who watch pods hear that it ends before it has ended
            record = await cluster.store.put(record.key, marked, record.revision)
        return await _remove(cluster, call, record, wanted)
    if wanted.dry_run:
        return Answer(200, encoded(versions.titled(marked, call.served)))
    changed = await cluster.store.put(record.key, marked, record.revision)
    return Answer(200, versions.shown(changed, call.served))


async def _remove(cluster: Cluster, call: Call, record: Record, wanted: Options) -> Answer:
    gone = record if wanted.dry_run else await cluster.store.delete(record.key, record.revision)
    if call.served.store_name in SHOWN_WHEN_DELETED:
        return Answer(200, versions.shown(gone, call.served))
    uid = msgspec.json.decode(gone.value)["metadata"]["uid"]
    details = {"name": call.name, "group": call.served.group, "kind": call.served.plural, "uid": uid}
    details = {key: value for key, value in details.items() if value}
    return Answer(200, encoded({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}))


def _check_preconditions(call: Call, obj: Object, wanted: Options) -> None:
    for name, asked, held in (
        ("UID", wanted.uid, obj["metadata"]["uid"]),
        ("ResourceVersion", wanted.version, obj["metadata"]["resourceVersion"]),
    ):
        if asked and asked != held:
            why = f"Precondition failed: {name} in precondition: {asked}, {name} in object meta: {held}"
            raise refusals.conflict(call.subject, why)


def _marked(cluster: Cluster, served: Served, obj: Object, wanted: Options) -> Object | None:
    """The object with the marks of its deletion; None if it has them already."""
    grace = _grace(served, obj, wanted)
    finalizers = _finalizers(served, obj, wanted)
    meta = dict(obj["metadata"])
    held = finalizers or (served.kind == "Namespace" and obj.get("spec", {}).get("finalizers"))
    if meta.get("deletionTimestamp"):
        if grace >= meta.get("deletionGracePeriodSeconds", 0) and finalizers == meta.get("finalizers", []):
            return None if held or grace else _with(obj, meta | {"deletionGracePeriodSeconds": 0})
    elif not held and not grace and served.store_name != PODS:
        return obj
    return _with(obj, _dated(cluster, meta, grace, finalizers))


def _dated(cluster: Cluster, meta: Object, grace: int, finalizers: list[str]) -> Object:
    if not meta.get("deletionTimestamp") or grace < meta.get("deletionGracePeriodSeconds", 0):
        if not meta.get("deletionTimestamp") and meta.get("generation"):
            meta["generation"] += 1
        ends = cluster.clock() + dt.timedelta(seconds=grace)
        meta["deletionTimestamp"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
        meta["deletionGracePeriodSeconds"] = grace
    meta.pop("finalizers", None)
    return meta | ({"finalizers": finalizers} if finalizers else {})


def _with(obj: Object, meta: Object) -> Object:
    changed = obj | {"metadata": meta}
    if obj["kind"] == "Namespace":
        changed["status"] = obj.get("status", {}) | {"phase": "Terminating"}
    if obj["kind"] == "CustomResourceDefinition":
        changed["status"] = _terminating(obj.get("status", {}), str(meta["deletionTimestamp"]))
    return changed


def _terminating(status: Object, now: str) -> Object:
    others = [each for each in status.get("conditions") or () if each["type"] != "Terminating"]
    told = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    mark = {"type": "Terminating", "status": "True", "lastTransitionTime": now}
    return status | {"conditions": [*others, mark | {"reason": "InstanceDeletionPending", "message": told}]}


def _grace(served: Served, obj: Object, wanted: Options) -> int:
    """Only pods have a grace: none before they are on a node, nor after they ended."""
    if served.store_name != PODS:
        return 0
    grace = wanted.grace if wanted.grace is not None else obj["spec"].get("terminationGracePeriodSeconds", 30)
    ended = obj.get("status", {}).get("phase") in ("Succeeded", "Failed")
    if not obj["spec"].get("nodeName") or ended:
        return 0
    return max(int(grace), 1) if grace < 0 else int(grace)


def _finalizers(served: Served, obj: Object, wanted: Options) -> list[str]:
    held = [each for each in obj["metadata"].get("finalizers", ()) if each not in (ORPHAN, FOREGROUND)]
    ours = [each for each in obj["metadata"].get("finalizers", ()) if each in (ORPHAN, FOREGROUND)]
    if wanted.orphan is not None:
        ours = [ORPHAN] if wanted.orphan else []
    elif wanted.policy:
        ours = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(wanted.policy, [])
    if served.store_name == CRDS and CRD_CLEANUP not in held:
        held.append(CRD_CLEANUP)
    return held + ours


async def delete_collection(cluster: Cluster, call: Call) -> Answer:
    bodies.delete_options(call)  # a body that cannot be read must not delete half of them
    found = listing.listed(cluster, call)
    for record in found.records:
        try:
            await delete(cluster, call._replace(name=record.key.name, namespace=record.key.namespace))
        except refusals.Refusal as refusal:
            if refusal.code != 404:
                raise
    return Answer(200, b"".join(listing.pieces(call, found)))
