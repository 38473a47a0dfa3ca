"""Services and the pods behind them."""

from __future__ import annotations

import contextlib
from typing import Any

from tests.cluster.api import Object, Refused
from tests.cluster.scenes.stage import Stage

NODE = "scenes-node"


def node(stage: Stage) -> None:
    """Slices show only pods of nodes that are there."""
    labels = {"topology.kubernetes.io/zone": "here"}
    with contextlib.suppress(Refused):  # another scene has made it
        stage.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels}})


def service(**spec: Any) -> Object:
    spec = {"selector": {"app": "x"}, "ports": [{"port": 80}], **spec}
    meta = {"name": "s", "labels": {"of": "s"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def pod(stage: Stage, name: str, ip: str, ready: bool = True, **more: Any) -> None:
    container = {"name": "c", "image": "i", "ports": more.pop("ports", [])}
    meta = {"name": name, "labels": {"app": "x"}}
    spec = {"containers": [container], "nodeName": NODE, **more}
    stage.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    stage.kubelet.run(name, ready=ready)
    stage.patch("pods", name, {"status": {"podIP": ip, "podIPs": [{"ip": ip}]}}, "status")


def shown(stage: Stage) -> list[str]:
    """What the slices list."""
    found = [endpoint for each in stage.all("endpointslices") for endpoint in each.get("endpoints") or ()]
    return sorted(f"{each['addresses'][0]} {each['conditions']['ready']}" for each in found)


def listed(stage: Stage) -> list[str]:
    """What the Endpoints list."""
    found = [each for item in stage.all("endpoints") for each in item.get("subsets") or ()]
    ready = {f"{address['ip']} True" for each in found for address in each.get("addresses") or ()}
    return sorted(ready | {f"{address['ip']} False" for each in found for address in each.get("notReadyAddresses") or ()})


def become(stage: Stage, *wanted: str, endpoints: tuple[str, ...] | None = None) -> None:
    stage.becomes(lambda: stage.all("endpoints") and shown(stage) == sorted(wanted))
    stage.becomes(lambda: listed(stage) == sorted(wanted if endpoints is None else endpoints))


def seen(stage: Stage) -> Object:
    slices = stage.all("endpointslices")
    for each in slices:
        each["metadata"].pop("name")
        each["metadata"].pop("annotations", None)  # when somebody first saw the change
        each["endpoints"] = sorted(each.get("endpoints") or (), key=lambda one: str(one["addresses"]))
        each["ports"] = sorted(each.get("ports") or (), key=str)
    endpoints = stage.plain(stage.all("endpoints"))
    for each in endpoints:
        each["metadata"].pop("annotations", None)
        for subset in each.get("subsets", ()):
            subset["ports"] = sorted(subset.get("ports") or (), key=str)
        each["subsets"] = sorted(each.get("subsets") or (), key=str)
    return {"endpoints": endpoints, "slices": sorted(stage.plain(slices), key=str)}


def has_nobody(stage: Stage) -> Object:
    stage.create("services", service())
    stage.becomes(lambda: stage.all("endpointslices"))
    become(stage)
    return seen(stage)


def has_ready_and_unready_pods(stage: Stage) -> Object:
    node(stage)
    stage.create("services", service(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81, "appProtocol": "http"}]))
    pod(stage, "one", "10.1.0.1")
    pod(stage, "two", "10.1.0.2", ready=False)
    become(stage, "10.1.0.1 True", "10.1.0.2 False")
    first = seen(stage)
    stage.kubelet.run("two")
    become(stage, "10.1.0.1 True", "10.1.0.2 True")
    over = {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}]}
    stage.patch("pods", "one", {"status": over}, "status")
    become(stage, "10.1.0.2 True")
    return {"first": first, "last": seen(stage)}


def has_named_ports(stage: Stage) -> Object:
    node(stage)
    ports = [{"name": "web", "port": 80, "targetPort": "http"}, {"name": "more", "port": 90, "targetPort": "more"}]
    stage.create("services", service(ports=ports))
    http = {"name": "http", "containerPort": 8080}
    pod(stage, "one", "10.1.0.1", ports=[http])
    pod(stage, "two", "10.1.0.2", ports=[{**http, "containerPort": 8081}, {"name": "more", "containerPort": 9}])
    become(stage, "10.1.0.1 True", "10.1.0.2 True")
    return seen(stage)


def is_headless(stage: Stage) -> Object:
    node(stage)
    stage.create("services", service(clusterIP="None", ports=[]))
    pod(stage, "one", "10.1.0.1", hostname="h", subdomain="s")
    pod(stage, "two", "10.1.0.2", hostname="h", subdomain="other")
    become(stage, "10.1.0.1 True", "10.1.0.2 True")
    return seen(stage)


def publishes_what_is_not_ready(stage: Stage) -> Object:
    node(stage)
    stage.create("services", service(clusterIP="None", publishNotReadyAddresses=True))
    pod(stage, "one", "10.1.0.1", ready=False)
    become(stage, "10.1.0.1 True")
    return seen(stage)


def shows_pods_that_are_going(stage: Stage) -> Object:
    node(stage)
    stage.create("services", service())
    pod(stage, "one", "10.1.0.1")
    become(stage, "10.1.0.1 True")
    stage.delete("pods", "one")
    become(stage, "10.1.0.1 False", endpoints=())
    found = seen(stage)
    stage.kubelet.gone("one")
    become(stage)
    return {"going": found, "gone": seen(stage)}


def follows_its_selector(stage: Stage) -> Object:
    node(stage)
    stage.create("services", service())
    pod(stage, "one", "10.1.0.1")
    become(stage, "10.1.0.1 True")
    stage.patch("services", "s", {"spec": {"selector": {"app": "y"}}, "metadata": {"labels": {"new": "label"}}})
    become(stage)
    stage.patch("pods", "one", {"metadata": {"labels": {"app": "y"}}})
    become(stage, "10.1.0.1 True")
    return seen(stage)


def goes(stage: Stage) -> Object:
    stage.create("services", service())
    become(stage)
    stage.delete("services", "s")
    stage.becomes(lambda: not stage.all("endpoints") and not stage.all("endpointslices"))
    return {}


def has_no_selector(stage: Stage) -> Object:
    stage.create("services", service(selector=None))
    stage.create("services", {**service(), "metadata": {"name": "t"}})
    stage.becomes(lambda: stage.all("endpoints"))
    return {"names": [each["metadata"]["name"] for each in stage.all("endpoints")]}


SCENES = (
    has_nobody, has_ready_and_unready_pods, has_named_ports, is_headless, publishes_what_is_not_ready,
    shows_pods_that_are_going, follows_its_selector, goes, has_no_selector,
)  # fmt: skip
