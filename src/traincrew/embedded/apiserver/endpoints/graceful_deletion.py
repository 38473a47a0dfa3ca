"""The marks of a deletion: when an object ends, and what holds it until then."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.apimachinery.resource_info import Object

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
POD, NAMESPACE = ("v1", "Pod"), ("v1", "Namespace")
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a definition until the objects of its kind are gone."""


class Options(NamedTuple):
    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False
    orphan: bool | None = None


def is_last_word(obj: Object) -> bool:
    """Deleted, nothing holds it any more: the write that made it so removes it."""
    meta = obj["metadata"]
    held = meta.get("finalizers") or (_title(obj) == NAMESPACE and obj.get("spec", {}).get("finalizers"))
    return bool(meta.get("deletionTimestamp")) and not held and not meta.get("deletionGracePeriodSeconds")


def marked(obj: Object, wanted: Options, now: dt.datetime, orphans: bool) -> Object | None:
    """The object with the marks of its deletion; None if it has them already. orphans: what it owns stays unless asked for."""
    grace, finalizers = _grace(obj, wanted), _finalizers(obj, wanted, orphans)
    meta = dict(obj["metadata"])
    held = finalizers or (_title(obj) == NAMESPACE and obj.get("spec", {}).get("finalizers"))
    if meta.get("deletionTimestamp"):
        if grace >= meta.get("deletionGracePeriodSeconds", 0) and finalizers == meta.get("finalizers", []):
            return None if held or grace else _with(obj, meta | {"deletionGracePeriodSeconds": 0})
    elif not held and not grace and _title(obj) != POD:
        return obj
    if not meta.get("deletionTimestamp") or grace < meta.get("deletionGracePeriodSeconds", 0):
        _date(obj, meta, now, grace)
    meta.pop("finalizers", None)
    return _with(obj, meta | ({"finalizers": finalizers} if finalizers else {}))


def ends_apart(obj: Object) -> bool:
    """Namespaces and definitions are ended in a way of their own: without grace, and without a generation of their end."""
    return _title(obj) in (NAMESPACE, DEFINITION)


def _date(obj: Object, meta: Object, now: dt.datetime, grace: int) -> None:
    first = not meta.get("deletionTimestamp")
    meta["deletionTimestamp"] = times.rfc3339(now + dt.timedelta(seconds=grace))
    if ends_apart(obj):
        return
    meta["deletionGracePeriodSeconds"] = grace
    if first and meta.get("generation"):
        meta["generation"] += 1


def _with(obj: Object, meta: Object) -> Object:
    changed = obj | {"metadata": meta}
    if _title(obj) == NAMESPACE:
        changed["status"] = obj.get("status", {}) | {"phase": "Terminating"}
    if _title(obj) == DEFINITION:
        changed["status"] = _terminating(obj.get("status", {}), str(meta["deletionTimestamp"]))
    return changed


def _terminating(status: Object, now: str) -> Object:
    others = [each for each in status.get("conditions") or () if each["type"] != "Terminating"]
    told = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    mark = {"type": "Terminating", "status": "True", "lastTransitionTime": now}
    return status | {"conditions": [*others, mark | {"reason": "InstanceDeletionPending", "message": told}]}


def _grace(obj: Object, wanted: Options) -> int:
    """Only pods have a grace: none before they are on a node, nor after they ended."""
    if _title(obj) != POD:
        return 0
    grace = wanted.grace if wanted.grace is not None else obj["spec"].get("terminationGracePeriodSeconds", 30)
    ended = obj.get("status", {}).get("phase") in ("Succeeded", "Failed")
    if not obj["spec"].get("nodeName") or ended:
        return 0
    return max(int(grace), 1) if grace < 0 else int(grace)


def _finalizers(obj: Object, wanted: Options, orphans: bool) -> list[str]:
    finalizers = obj["metadata"].get("finalizers") or ()
    held = [each for each in finalizers if each not in (ORPHAN, FOREGROUND)]
    ours = [each for each in finalizers if each in (ORPHAN, FOREGROUND)]
    if wanted.orphan is not None:
        ours = [ORPHAN] if wanted.orphan else []
    elif wanted.policy:
        ours = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(wanted.policy, [])
    elif orphans and not ours:
        ours = [ORPHAN]
    if _title(obj) == DEFINITION and CRD_CLEANUP not in held:
        held.append(CRD_CLEANUP)
    return held + ours


def _title(obj: Object) -> tuple[str, str]:
    return obj["apiVersion"], obj["kind"]
