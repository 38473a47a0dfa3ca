"""The embedded node controllers and those of kube-controller-manager on the same API server, with a node that is lost."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cluster import embedded_controllers
from tests.cluster.api import Object
from tests.cluster.heartbeats import Heartbeats
from tests.cluster.scenarios.scenario import ControllerScenario
from tools.kube import cluster

OURS = ("nodelifecycle", "taint-eviction", "podgc")
THEIRS = "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller"
GRACE = f"{embedded_controllers.TIMING.grace:.0f}s"
FLAGS = ("--node-monitor-period=1s", f"--node-monitor-grace-period={GRACE}", f"--node-startup-grace-period={GRACE}")
LOST = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
TOLERATIONS: dict[str, list[Object]] = {"patient": [LOST], "impatient": [{**LOST, "tolerationSeconds": 1}], "usual": []}


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with cluster.start() as started:
        yield started


@pytest.fixture(scope="module")
def outcomes(kube: cluster.Cluster) -> tuple[dict[str, Any], dict[str, Any]]:
    kube.start_controller_manager(f"--controllers={THEIRS}", *FLAGS)
    try:
        theirs = _run(kube)
    finally:
        kube.stop_controller_manager()
    with embedded_controllers.running(kube, *OURS):
        return theirs, _run(kube)


def _run(kube: cluster.Cluster) -> dict[str, Any]:
    scenario = ControllerScenario(kube.kubeconfig, f"scenario-{uuid.uuid4().hex[:10]}")
    scenario.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": scenario.namespace}})
    with Heartbeats(kube.kubeconfig) as nodes:
        nodes.join("stays", "dies", "never")
        try:
            return _lose_a_node(scenario, nodes)
        finally:
            nodes.leave("stays", "dies", "never")


def _lose_a_node(scenario: ControllerScenario, nodes: Heartbeats) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name, tolerations in TOLERATIONS.items():
        _pod(scenario, name, "dies", tolerations)
    _pod(scenario, "elsewhere", "stays", [])
    nodes.silence("dies")
    scenario.becomes(lambda: _taints(nodes, "dies") == ["unreachable:NoExecute", "unreachable:NoSchedule"])
    scenario.becomes(lambda: _is_deleted(scenario, "impatient"))
    scenario.becomes(lambda: not _is_ready(scenario, "patient") and not _is_ready(scenario, "usual"))
    seen["lost"] = _view(scenario, nodes)
    scenario.api.call("PATCH", "/api/v1/nodes/dies", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
    scenario.becomes(lambda: "unschedulable:NoSchedule" in _taints(nodes, "dies"))
    out = {"key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule"}
    taints = [*nodes.node("dies")["spec"]["taints"], out]
    scenario.api.call("PATCH", "/api/v1/nodes/dies", {"spec": {"taints": taints}}, "application/merge-patch+json")
    scenario.becomes(lambda: scenario.gone("pods", "impatient"))
    taints = [each for each in nodes.node("dies")["spec"]["taints"] if each["key"] != out["key"]]
    body = {"spec": {"taints": taints, "unschedulable": None}}
    scenario.api.call("PATCH", "/api/v1/nodes/dies", body, "application/merge-patch+json")
    nodes.report("dies")
    scenario.becomes(lambda: _taints(nodes, "dies") == [])
    scenario.becomes(lambda: any("Cancelling" in each["message"] for each in scenario.events("Pod")))
    seen["back"] = _view(scenario, nodes)
    return seen


def _pod(scenario: ControllerScenario, name: str, node: str, tolerations: list[Object]) -> None:
    spec = {"nodeName": node, "tolerations": tolerations, "containers": [{"name": "c", "image": "i"}]}
    scenario.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    scenario.kubelet.run(name)


def _taints(nodes: Heartbeats, name: str) -> list[str]:
    listed = nodes.node(name)["spec"].get("taints") or ()
    return sorted(f"{each['key'].removeprefix('node.kubernetes.io/')}:{each['effect']}" for each in listed)


def _is_ready(scenario: ControllerScenario, name: str) -> bool:
    listed = scenario.get("pods", name)["status"]["conditions"]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in listed)


def _is_deleted(scenario: ControllerScenario, name: str) -> bool:
    return "deletionTimestamp" in scenario.get("pods", name)["metadata"]


def _view(scenario: ControllerScenario, nodes: Heartbeats) -> Object:
    of_nodes = {name: nodes.node(name) for name in ("stays", "dies", "never")}
    return {
        "nodes": {name: _of_node(scenario, each) for name, each in of_nodes.items()},
        "pods": [_of_pod(scenario, each) for each in scenario.all("pods")],
        "pod events": scenario.events("Pod"),
        "node events": [_node_events(scenario, each) for each in of_nodes.values()],
    }


def _of_node(scenario: ControllerScenario, node: Object) -> Object:
    conditions = sorted(node["status"].get("conditions", ()), key=_by("type"))
    taints = sorted(node["spec"].get("taints", ()), key=lambda each: (each["key"], each["effect"]))
    plain: Object = scenario.plain({"conditions": conditions, "taints": taints})
    return plain


def _of_pod(scenario: ControllerScenario, pod: Object) -> Object:
    meta, status = pod["metadata"], pod["status"]
    conditions = sorted(status.get("conditions", ()), key=_by("type"))
    deleted = "deletionTimestamp" in meta
    plain: Object = scenario.plain({"name": meta["name"], "deleted": deleted, "phase": status["phase"], "conditions": conditions})
    return plain


def _node_events(scenario: ControllerScenario, node: Object) -> list[Object]:
    found = scenario.api.all("events", "default")
    mine = [each for each in found if each["involvedObject"].get("uid") == node["metadata"]["uid"]]
    keys = ("type", "reason", "message", "source", "reportingComponent", "involvedObject")
    unique = {json.dumps(scenario.plain({key: each.get(key) for key in keys}), sort_keys=True) for each in mine}
    return [json.loads(each) for each in sorted(unique)]


def _by(key: str) -> Callable[[Object], str]:
    return lambda each: str(each[key])


@pytest.mark.parametrize("moment", ["lost", "back"])
@pytest.mark.parametrize("part", ["nodes", "pods", "pod events", "node events"])
def test_a_lost_node_looks_as_kube_controller_manager_leaves_it(
    outcomes: tuple[dict[str, Any], dict[str, Any]], moment: str, part: str
) -> None:
    theirs, ours = outcomes
    assert ours[moment][part] == theirs[moment][part]
