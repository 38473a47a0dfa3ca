"""Graceful deletion: deletionTimestamp, grace period and finalizers of an object that is being deleted."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.apimachinery.unstructured import Object

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
POD, NAMESPACE = ("v1", "Pod"), ("v1", "Namespace")
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until all objects of its kind are deleted."""


class DeleteOptions(NamedTuple):
    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False
    orphan: bool | None = None


def is_ready_for_removal(obj: Object) -> bool:
    """Whether the object is being deleted without grace period or finalizers left: the write that leads to this removes it."""
    meta = obj["metadata"]
    held = meta.get("finalizers") or (_group_version_kind(obj) == NAMESPACE and obj.get("spec", {}).get("finalizers"))
    return bool(meta.get("deletionTimestamp")) and not held and not meta.get("deletionGracePeriodSeconds")


def begin_deletion(obj: Object, options: DeleteOptions, now: dt.datetime, orphans: bool) -> Object | None:
    """The object with the metadata of its deletion; None if it has them already. orphans: dependents are orphaned by default."""
    grace, finalizers = _grace(obj, options), _finalizers(obj, options, orphans)
    meta = dict(obj["metadata"])
    held = finalizers or (_group_version_kind(obj) == NAMESPACE and obj.get("spec", {}).get("finalizers"))
    if meta.get("deletionTimestamp"):
        if grace >= meta.get("deletionGracePeriodSeconds", 0) and finalizers == meta.get("finalizers", []):
            return None if held or grace else _with(obj, meta | {"deletionGracePeriodSeconds": 0})
    elif not held and not grace and _group_version_kind(obj) != POD:
        return obj
    if not meta.get("deletionTimestamp") or grace < meta.get("deletionGracePeriodSeconds", 0):
        _set_timestamp(obj, meta, now, grace)
    meta.pop("finalizers", None)
    return _with(obj, meta | ({"finalizers": finalizers} if finalizers else {}))


def is_deleted_by_controller(obj: Object) -> bool:
    """Namespaces and definitions have no grace period, and their deletion is no new generation. Controllers remove them."""
    return _group_version_kind(obj) in (NAMESPACE, DEFINITION)


def _set_timestamp(obj: Object, meta: Object, now: dt.datetime, grace: int) -> None:
    """A shorter grace period starts at the first request, too."""
    first = not meta.get("deletionTimestamp")
    if not first:
        now = times.parse(meta["deletionTimestamp"]) - dt.timedelta(seconds=meta.get("deletionGracePeriodSeconds", 0))
    meta["deletionTimestamp"] = times.rfc3339(now + dt.timedelta(seconds=grace))
    if is_deleted_by_controller(obj):
        return
    meta["deletionGracePeriodSeconds"] = grace
    if first and meta.get("generation"):
        meta["generation"] += 1


def _with(obj: Object, meta: Object) -> Object:
    changed = obj | {"metadata": meta}
    if _group_version_kind(obj) == NAMESPACE:
        changed["status"] = obj.get("status", {}) | {"phase": "Terminating"}
    if _group_version_kind(obj) == DEFINITION:
        changed["status"] = _terminating(obj.get("status", {}), str(meta["deletionTimestamp"]))
    return changed


def _terminating(status: Object, now: str) -> Object:
    others = [each for each in status.get("conditions") or () if each["type"] != "Terminating"]
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    condition = {"type": "Terminating", "status": "True", "lastTransitionTime": now}
    return status | {"conditions": [*others, condition | {"reason": "InstanceDeletionPending", "message": message}]}


def _grace(obj: Object, options: DeleteOptions) -> int:
    """Only pods have a grace period, while they are on a node and have not ended."""
    if _group_version_kind(obj) != POD:
        return 0
    grace = options.grace if options.grace is not None else obj["spec"].get("terminationGracePeriodSeconds", 30)
    ended = obj.get("status", {}).get("phase") in ("Succeeded", "Failed")
    if not obj["spec"].get("nodeName") or ended:
        return 0
    return max(int(grace), 1) if grace < 0 else int(grace)


def _finalizers(obj: Object, options: DeleteOptions, orphans: bool) -> list[str]:
    finalizers = obj["metadata"].get("finalizers") or ()
    held = [each for each in finalizers if each not in (ORPHAN, FOREGROUND)]
    dependents = [each for each in finalizers if each in (ORPHAN, FOREGROUND)]
    if options.orphan is not None:
        dependents = [ORPHAN] if options.orphan else []
    elif options.policy:
        dependents = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(options.policy, [])
    elif orphans and not dependents:
        dependents = [ORPHAN]
    if _group_version_kind(obj) == DEFINITION and CRD_CLEANUP not in held:
        held.append(CRD_CLEANUP)
    return held + dependents


def _group_version_kind(obj: Object) -> tuple[str, str]:
    return obj["apiVersion"], obj["kind"]
