"""pods/eviction: deletes a pod if its disruption budget allows it."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import api_errors, disruption_budgets, label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import delete, request_bodies, write_path
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.request import JSON, ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, decoded, encoded

DISRUPTION_TARGET = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
    "lastProbeTime": None,
}
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
MULTIPLE_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
BUDGETS = "poddisruptionbudgets.policy"
MAX_DISRUPTED_PODS = 2000
"""Evicted pods of a budget that its controller has not observed yet."""


async def evict(scope: RequestScope, request: ApiRequest) -> Response:
    options = query_parameters.write_options(request.query, "CreateOptions", request.agent)
    eviction, warnings = request_bodies.of_kind(request, "policy", "v1", "Eviction", options.validation)
    if (eviction.get("metadata") or {}).get("name", request.name) != request.name:
        raise api_errors.bad_request("name in URL does not match name in Eviction object")
    delete_options: Object = {**(eviction.get("deleteOptions") or {}), "kind": "DeleteOptions", "apiVersion": "v1"}
    if options.dry_run:
        delete_options["dryRun"] = ["All"]
    pod = decoded(scope.existing(request.info, request.namespace, request.name))
    if _needs_budget(pod):
        budgets = _budgets(scope, pod)
        if len(budgets) > 1:
            raise api_errors.StatusError(500, "", MULTIPLE_BUDGETS)
        if budgets and not _may_evict_unready(pod, budgets[0]):
            await _decrement(scope, request, budgets[0], bool(delete_options.get("dryRun")))
    await _remove(scope, request, options, delete_options)
    return Response(201, encoded(SUCCESS), warnings)


def _needs_budget(pod: Object) -> bool:
    """Pods that have ended, have not started or are being deleted need no budget."""
    phase = pod.get("status", {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and not pod["metadata"].get("deletionTimestamp")


def _budgets(scope: RequestScope, pod: Object) -> list[Object]:
    labels = pod["metadata"].get("labels") or {}
    budgets = [decoded(record) for record in scope.store.heads(BUDGETS, pod["metadata"]["namespace"])]
    return [each for each in budgets if label_selectors.matches(each["spec"].get("selector"), labels)]


def _may_evict_unready(pod: Object, budget: Object) -> bool:
    """A pod that is not ready may be evicted while enough pods are healthy."""
    conditions = pod.get("status", {}).get("conditions") or ()
    if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


async def _decrement(scope: RequestScope, request: ApiRequest, budget: Object, dry_run: bool) -> None:
    """Decrements the disruptions that the budget allows. Raises StatusError."""
    if dry_run:
        _check(budget)
        return
    info = scope.registry.find("policy", "v1", "poddisruptionbudgets")
    assert info is not None

    async def decremented(current: Object) -> write_path.UpdatedObject:
        _check(current)
        now = scope.now()
        status: Object = {**current["status"], "disruptionsAllowed": current["status"]["disruptionsAllowed"] - 1}
        status["disruptedPods"] = {**(status.get("disruptedPods") or {}), request.name: now}
        if status["disruptionsAllowed"] == 0:
            status["conditions"] = disruption_budgets.conditions(status, now)
        return write_path.UpdatedObject({**current, "status": status}, guaranteed=True)

    writing = request._replace(info=info, name=budget["metadata"]["name"], subresource="status", verb="update")
    await write_path.update(
        scope, writing, query_parameters.write_options(query_parameters.EMPTY, "UpdateOptions", request.agent), decremented
    )


def _check(budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", 10)
    if len(status.get("disruptedPods") or {}) > MAX_DISRUPTED_PODS:
        message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise api_errors.forbidden(api_errors.StatusDetails("poddisruptionbudget", "policy", name), message)
    if not status.get("disruptionsAllowed"):
        desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _too_many(f"The disruption budget {name} needs {desired} healthy pods and has {current} currently")


def _too_many(cause: str, retry_after: int = 0) -> api_errors.StatusError:
    causes: list[dict[str, Any]] = [{"reason": "DisruptionBudget", "message": cause}]
    return api_errors.StatusError(429, "TooManyRequests", VIOLATED, causes=causes, retry_after=retry_after)


async def _remove(
    scope: RequestScope, request: ApiRequest, options: query_parameters.WriteOptions, delete_options: Object
) -> None:
    deletion = request._replace(subresource="", verb="delete", body=encoded(delete_options), content_type=JSON)
    parsed_options = delete.read_options(deletion)

    async def disrupted(pod: Object) -> write_path.UpdatedObject:
        delete.check_preconditions(request, pod, parsed_options)
        if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            put_condition(pod, DISRUPTION_TARGET | {"lastTransitionTime": scope.now()})
        return write_path.UpdatedObject(pod, guaranteed=True)

    if not parsed_options.dry_run:
        await write_path.update(scope, request._replace(subresource="status"), options, disrupted)
        deletion = deletion._replace(body=encoded(delete_options | {"preconditions": {"uid": parsed_options.uid}}))
    await delete.delete(scope, deletion)


def put_condition(pod: Object, condition: Object) -> None:
    status = pod.setdefault("status", {})
    others = [each for each in status.get("conditions") or () if each["type"] != condition["type"]]
    status["conditions"] = [*others, condition]
