"""Writes to pods that are not plain changes: binding to a node, eviction."""

from __future__ import annotations

from traincrew.embedded import refusals
from traincrew.embedded.api import bodies, changing, deleting, queries
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster, encoded
from traincrew.embedded.served import Object

SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def bind(cluster: Cluster, call: Call) -> Answer:
    options = queries.write_options(call.query, "CreateOptions", call.agent)
    binding, warnings = bodies.of_kind(call, "", "v1", "Binding", options.validation)
    meta, target = binding.get("metadata") or {}, binding.get("target") or {}
    name = call.name or str(meta.get("name", ""))
    node = str(target.get("name", ""))
    if not node:
        raise refusals.bad_request("target.name is required")

    async def bound(pod: Object) -> changing.Wanted:
        if meta.get("uid") and meta["uid"] != pod["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {pod['metadata']['uid']}"
            raise refusals.conflict(call.subject, why)
        if pod["metadata"].get("deletionTimestamp"):
            raise refusals.conflict(call.subject, f"pod {name} is being deleted, cannot be assigned to a host")
        if held := pod["spec"].get("nodeName"):
            raise refusals.conflict(call.subject, f'pod {name} is already assigned to node "{held}"')
        pod["spec"] = pod["spec"] | {"nodeName": node}
        _condition(pod, {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": cluster.now()})
        for kind in ("annotations", "labels"):
            if meta.get(kind):
                pod["metadata"] = pod["metadata"] | {kind: pod["metadata"].get(kind, {}) | meta[kind]}
        return changing.Wanted(pod, warnings, trusted=True)

    await changing.change(cluster, call._replace(name=name, subresource="binding"), options, bound)
    return Answer(201, encoded(SUCCESS), warnings)


async def evict(cluster: Cluster, call: Call) -> Answer:
    options = queries.write_options(call.query, "CreateOptions", call.agent)
    eviction, warnings = bodies.of_kind(call, "policy", "v1", "Eviction", options.validation)
    if (given := (eviction.get("metadata") or {}).get("name")) and given != call.name:
        raise refusals.bad_request(f"name in URL does not match name in Eviction object: {call.name} vs. {given}")
    limits = eviction.get("deleteOptions") or {}

    async def disrupted(pod: Object) -> changing.Wanted:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": cluster.now(),
        }
        if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            _condition(pod, condition)
        return changing.Wanted(pod, trusted=True)

    plain = call._replace(subresource="status", query=queries.EMPTY)
    if not options.dry_run:
        await changing.change(cluster, plain, options, disrupted)
    removal = call._replace(subresource="", verb="delete", body=encoded({**limits, "kind": "DeleteOptions", "apiVersion": "v1"}))
    await deleting.delete(cluster, removal)
    return Answer(201, encoded(SUCCESS), warnings)


def _condition(pod: Object, condition: Object) -> None:
    status = pod.setdefault("status", {})
    others = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
    status["conditions"] = [*others, condition]
