"""pods/binding: assigns a pod to a node."""

from __future__ import annotations

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import eviction, request_bodies, write_path
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded


async def bind(scope: RequestScope, request: ApiRequest) -> Response:
    options = query_parameters.write_options(request.query, "CreateOptions", request.agent)
    binding, warnings = request_bodies.of_kind(request, "", "v1", "Binding", options.validation)
    meta = binding.get("metadata") or {}
    if request.name and meta.get("name", request.name) != request.name:
        raise api_errors.bad_request("name in URL does not match name in Binding object")
    name = request.name or str(meta.get("name", ""))
    node = _node(binding.get("target") or {})

    async def bound(pod: Object) -> write_path.UpdatedObject:
        if why := _unbindable(pod, meta.get("uid")):
            raise api_errors.conflict(api_errors.StatusDetails("pods/binding", "", name), why)
        pod["spec"] = pod["spec"] | {"nodeName": node}
        eviction.put_condition(
            pod, {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": scope.now()}
        )
        for kind in ("annotations", "labels"):
            if meta.get(kind):
                pod["metadata"] = pod["metadata"] | {kind: pod["metadata"].get(kind, {}) | meta[kind]}
        return write_path.UpdatedObject(pod, warnings, guaranteed=True)

    await write_path.update(scope, request._replace(name=name, subresource="binding"), options, bound)
    return Response(201, encoded(eviction.SUCCESS), warnings)


def _node(target: Object) -> str:
    errors = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(field_errors.not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(field_errors.required("target.name"))
    if errors:
        messages = [str(each) for each in errors]
        raise api_errors.bad_request(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
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
