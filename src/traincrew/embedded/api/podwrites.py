"""Binding a pod to a node."""

from __future__ import annotations

from traincrew.embedded import fields, refusals
from traincrew.embedded.api import bodies, changing, evicting, queries
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.cluster import Cluster, encoded
from traincrew.embedded.served import Object


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
        evicting.put_condition(
            pod, {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": cluster.now()}
        )
        for kind in ("annotations", "labels"):
            if meta.get(kind):
                pod["metadata"] = pod["metadata"] | {kind: pod["metadata"].get(kind, {}) | meta[kind]}
        return changing.Wanted(pod, warnings, trusted=True)

    await changing.change(cluster, call._replace(name=name, subresource="binding"), options, bound)
    return Answer(201, encoded(evicting.SUCCESS), warnings)


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
