"""Writes to pods that are not plain changes: binding to a node, eviction."""

from __future__ import annotations

from traincrew.embedded import fields, refusals
from traincrew.embedded.api import bodies, changing, deleting, queries
from traincrew.embedded.api.calls import JSON, Answer, Call
from traincrew.embedded.api.cluster import Cluster, encoded
from traincrew.embedded.served import Object

DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
    "lastProbeTime": None,
}
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def bind(cluster: Cluster, call: Call) -> Answer:
    options = queries.write_options(call.query, "CreateOptions", call.agent)
    binding, warnings = bodies.of_kind(call, "", "v1", "Binding", options.validation)
    meta = binding.get("metadata") or {}
    if call.name and meta.get("name", call.name) != call.name:
        raise refusals.bad_request("name in URL does not match name in Binding object")
    name = call.name or str(meta.get("name", ""))
    node = _node(binding.get("target") or {})

    async def bound(pod: Object) -> changing.Wanted:
        if why := _unbindable(pod, meta.get("uid")):
            raise refusals.conflict(refusals.Subject("pods/binding", "", name), why)
        pod["spec"] = pod["spec"] | {"nodeName": node}
        _condition(pod, {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": cluster.now()})
        for kind in ("annotations", "labels"):
            if meta.get(kind):
                pod["metadata"] = pod["metadata"] | {kind: pod["metadata"].get(kind, {}) | meta[kind]}
        return changing.Wanted(pod, warnings, trusted=True)

    await changing.change(cluster, call._replace(name=name, subresource="binding"), options, bound)
    return Answer(201, encoded(SUCCESS), warnings)


def _node(target: Object) -> str:
    faults = []
    if target.get("kind") not in (None, "", "Node"):
        faults.append(fields.not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        faults.append(fields.required("target.name"))
    if faults:
        told = [each.tell() for each in faults]
        raise refusals.Refusal(500, "", told[0] if len(told) == 1 else f"[{', '.join(told)}]")
    return str(target["name"])


def _unbindable(pod: Object, uid: str | None) -> str:
    meta, spec = pod["metadata"], pod["spec"]
    if uid and uid != meta["uid"]:
        return f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
    if meta.get("deletionTimestamp"):
        return f"pod {meta['name']} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {meta["name"]} is already assigned to node "{spec["nodeName"]}"'
    return f"pod {meta['name']} has non-empty .spec.schedulingGates" if spec.get("schedulingGates") else ""


async def evict(cluster: Cluster, call: Call) -> Answer:
    options = queries.write_options(call.query, "CreateOptions", call.agent)
    eviction, warnings = bodies.of_kind(call, "policy", "v1", "Eviction", options.validation)
    if (eviction.get("metadata") or {}).get("name", call.name) != call.name:
        raise refusals.bad_request("name in URL does not match name in Eviction object")
    wanted: Object = {**(eviction.get("deleteOptions") or {}), "kind": "DeleteOptions", "apiVersion": "v1"}
    if options.dry_run:
        wanted["dryRun"] = ["All"]
    removal = call._replace(subresource="", verb="delete", body=encoded(wanted), content_type=JSON)
    limits = deleting.options(removal)

    async def disrupted(pod: Object) -> changing.Wanted:
        deleting.check_preconditions(call, pod, limits)
        if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            _condition(pod, DISRUPTED | {"lastTransitionTime": cluster.now()})
        return changing.Wanted(pod, trusted=True)

    if not limits.dry_run:
        await changing.change(cluster, call._replace(subresource="status"), options, disrupted)
        removal = removal._replace(body=encoded(wanted | {"preconditions": {"uid": limits.uid}}))
    await deleting.delete(cluster, removal)
    return Answer(201, encoded(SUCCESS), warnings)


def _condition(pod: Object, condition: Object) -> None:
    status = pod.setdefault("status", {})
    others = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
    status["conditions"] = [*others, condition]
