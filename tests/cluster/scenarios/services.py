"""Services and their endpoints."""

from __future__ import annotations

import contextlib
from typing import Any

from tests.cluster.api import Object, RejectedRequest
from tests.cluster.scenarios.scenario import ControllerScenario

NODE = "scenario-node"


def node(scenario: ControllerScenario) -> None:
    """EndpointSlices contain only pods on existing nodes."""
    labels = {"topology.kubernetes.io/zone": "here"}
    with contextlib.suppress(RejectedRequest):  # another scenario has created it
        scenario.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels}})


def service(**spec: Any) -> Object:
    spec = {"selector": {"app": "x"}, "ports": [{"port": 80}], **spec}
    meta = {"name": "s", "labels": {"of": "s"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def pod(scenario: ControllerScenario, name: str, ip: str, ready: bool = True, **more: Any) -> None:
    container = {"name": "c", "image": "i", "ports": more.pop("ports", [])}
    meta = {"name": name, "labels": {"app": "x"}}
    spec = {"containers": [container], "nodeName": NODE, **more}
    scenario.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    scenario.kubelet.run(name, ready=ready)
    scenario.patch("pods", name, {"status": {"podIP": ip, "podIPs": [{"ip": ip}]}}, "status")


def shown(scenario: ControllerScenario) -> list[str]:
    """The addresses in the EndpointSlices."""
    found = [endpoint for each in scenario.all("endpointslices") for endpoint in each.get("endpoints") or ()]
    return sorted(f"{each['addresses'][0]} {each['conditions']['ready']}" for each in found)


def listed(scenario: ControllerScenario) -> list[str]:
    """The addresses in the Endpoints."""
    found = [each for item in scenario.all("endpoints") for each in item.get("subsets") or ()]
    ready = {f"{address['ip']} True" for each in found for address in each.get("addresses") or ()}
    return sorted(ready | {f"{address['ip']} False" for each in found for address in each.get("notReadyAddresses") or ()})


def become(scenario: ControllerScenario, *wanted: str, endpoints: tuple[str, ...] | None = None) -> None:
    scenario.becomes(lambda: scenario.all("endpoints") and shown(scenario) == sorted(wanted))
    scenario.becomes(lambda: listed(scenario) == sorted(wanted if endpoints is None else endpoints))


def seen(scenario: ControllerScenario) -> Object:
    slices = scenario.all("endpointslices")
    for each in slices:
        each["metadata"].pop("name")
        each["metadata"].pop("annotations", None)  # time of the last change
        each["endpoints"] = sorted(each.get("endpoints") or (), key=lambda one: str(one["addresses"]))
        each["ports"] = sorted(each.get("ports") or (), key=str)
    endpoints = scenario.plain(scenario.all("endpoints"))
    for each in endpoints:
        each["metadata"].pop("annotations", None)
        for subset in each.get("subsets", ()):
            subset["ports"] = sorted(subset.get("ports") or (), key=str)
        each["subsets"] = sorted(each.get("subsets") or (), key=str)
    return {"endpoints": endpoints, "slices": sorted(scenario.plain(slices), key=str)}


def has_nobody(scenario: ControllerScenario) -> Object:
    scenario.create("services", service())
    scenario.becomes(lambda: scenario.all("endpointslices"))
    become(scenario)
    return seen(scenario)


def has_ready_and_unready_pods(scenario: ControllerScenario) -> Object:
    node(scenario)
    scenario.create("services", service(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81, "appProtocol": "http"}]))
    pod(scenario, "one", "10.1.0.1")
    pod(scenario, "two", "10.1.0.2", ready=False)
    become(scenario, "10.1.0.1 True", "10.1.0.2 False")
    first = seen(scenario)
    scenario.kubelet.run("two")
    become(scenario, "10.1.0.1 True", "10.1.0.2 True")
    over = {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}]}
    scenario.patch("pods", "one", {"status": over}, "status")
    become(scenario, "10.1.0.2 True")
    return {"first": first, "last": seen(scenario)}


def has_named_ports(scenario: ControllerScenario) -> Object:
    node(scenario)
    ports = [{"name": "web", "port": 80, "targetPort": "http"}, {"name": "more", "port": 90, "targetPort": "more"}]
    scenario.create("services", service(ports=ports))
    http = {"name": "http", "containerPort": 8080}
    pod(scenario, "one", "10.1.0.1", ports=[http])
    pod(scenario, "two", "10.1.0.2", ports=[{**http, "containerPort": 8081}, {"name": "more", "containerPort": 9}])
    become(scenario, "10.1.0.1 True", "10.1.0.2 True")
    return seen(scenario)


def is_headless(scenario: ControllerScenario) -> Object:
    node(scenario)
    scenario.create("services", service(clusterIP="None", ports=[]))
    pod(scenario, "one", "10.1.0.1", hostname="h", subdomain="s")
    pod(scenario, "two", "10.1.0.2", hostname="h", subdomain="other")
    become(scenario, "10.1.0.1 True", "10.1.0.2 True")
    return seen(scenario)


def publishes_what_is_not_ready(scenario: ControllerScenario) -> Object:
    node(scenario)
    scenario.create("services", service(clusterIP="None", publishNotReadyAddresses=True))
    pod(scenario, "one", "10.1.0.1", ready=False)
    become(scenario, "10.1.0.1 True")
    return seen(scenario)


def shows_pods_that_are_going(scenario: ControllerScenario) -> Object:
    node(scenario)
    scenario.create("services", service())
    pod(scenario, "one", "10.1.0.1")
    become(scenario, "10.1.0.1 True")
    scenario.delete("pods", "one")
    become(scenario, "10.1.0.1 False", endpoints=())
    found = seen(scenario)
    scenario.kubelet.gone("one")
    become(scenario)
    return {"going": found, "gone": seen(scenario)}


def follows_its_selector(scenario: ControllerScenario) -> Object:
    node(scenario)
    scenario.create("services", service())
    pod(scenario, "one", "10.1.0.1")
    become(scenario, "10.1.0.1 True")
    scenario.patch("services", "s", {"spec": {"selector": {"app": "y"}}, "metadata": {"labels": {"new": "label"}}})
    become(scenario)
    scenario.patch("pods", "one", {"metadata": {"labels": {"app": "y"}}})
    become(scenario, "10.1.0.1 True")
    return seen(scenario)


def goes(scenario: ControllerScenario) -> Object:
    scenario.create("services", service())
    become(scenario)
    scenario.delete("services", "s")
    scenario.becomes(lambda: not scenario.all("endpoints") and not scenario.all("endpointslices"))
    return {}


def has_no_selector(scenario: ControllerScenario) -> Object:
    scenario.create("services", service(selector=None))
    scenario.create("services", {**service(), "metadata": {"name": "t"}})
    scenario.becomes(lambda: scenario.all("endpoints"))
    return {"names": [each["metadata"]["name"] for each in scenario.all("endpoints")]}


SCENARIOS = (
    has_nobody, has_ready_and_unready_pods, has_named_ports, is_headless, publishes_what_is_not_ready,
    shows_pods_that_are_going, follows_its_selector, goes, has_no_selector,
)  # fmt: skip
