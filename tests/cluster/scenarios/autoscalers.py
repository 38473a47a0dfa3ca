"""HorizontalPodAutoscalers and their targets."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.cluster.api import Object
from tests.cluster.scenarios.scenario import ControllerScenario

METRICS: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pods.metrics.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
    "spec": {
        "group": "metrics.k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "pods", "singular": "pod", "kind": "PodMetrics", "listKind": "PodMetricsList"},
        "versions": [
            {
                "name": "v1beta1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}  # fmt: skip
"""Replaces the metrics server: a scenario writes the metrics."""
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}


def target(scenario: ControllerScenario, replicas: int, requests: Object | None = None) -> None:
    """A Deployment without a controller other than the autoscaler."""
    asked = {"cpu": "100m", "memory": "100Mi"} if requests is None else requests
    containers = [{"name": "c", "image": "i", "resources": {"requests": asked}}]
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    scenario.create("deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    scenario.patch("deployments", "d", {"status": {"replicas": replicas}}, "status")
    for number in range(replicas):
        meta = {"name": f"p-{number}", "labels": {"app": "x"}}
        scenario.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}})
        scenario.kubelet.run(f"p-{number}")


def measured(scenario: ControllerScenario, *cpu: str, memory: str = "50Mi") -> None:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for number, used in enumerate(cpu):
        meta = {"name": f"p-{number}", "labels": {"app": "x"}}
        body = {
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": meta, "timestamp": now, "window": "15s",
            "containers": [{"name": "c", "usage": {"cpu": used, "memory": memory}}],
        }  # fmt: skip
        scenario.api.call("POST", f"/apis/metrics.k8s.io/v1beta1/namespaces/{scenario.namespace}/pods", body)


def autoscaler(scenario: ControllerScenario, *metrics: Object, **spec: Any) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": reference, "minReplicas": 1, "maxReplicas": 5, "metrics": list(metrics or [CPU]), **spec}
    body = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}
    scenario.create("horizontalpodautoscalers", body)


def seen(scenario: ControllerScenario, reason: str) -> Object:
    """Wait until the status or an event has this reason."""

    def is_reported() -> bool:
        status = scenario.get("horizontalpodautoscalers", "h").get("status", {})
        said = {each["reason"] for each in status.get("conditions", ())}
        return reason in said or any(each["reason"] == reason for each in scenario.all("events"))

    scenario.becomes(is_reported)
    scenario.becomes(lambda: scenario.get("horizontalpodautoscalers", "h")["status"].get("conditions"))
    shown = scenario.plain(scenario.get("horizontalpodautoscalers", "h")["status"])
    shown["conditions"].sort(key=lambda each: str(each["type"]))
    replicas = None if scenario.gone("deployments", "d") else scenario.get("deployments", "d")["spec"]["replicas"]
    return {"status": shown, "events": scenario.events("HorizontalPodAutoscaler"), "replicas": replicas}


def rescaled(scenario: ControllerScenario, reason: str = "SuccessfulRescale") -> Object:
    """Without conditions, which depend on a later evaluation."""
    scenario.event("SuccessfulRescale")
    found = seen(scenario, reason)
    return {"events": [each for each in found["events"] if each["type"] == "Normal"], "replicas": found["replicas"]}


def has_no_metrics_server(scenario: ControllerScenario) -> Object:
    target(scenario, 2)
    autoscaler(scenario)
    return seen(scenario, "FailedComputeMetricsReplicas")


def has_no_target(scenario: ControllerScenario) -> Object:
    autoscaler(scenario)
    scenario.event("FailedGetScale")
    return seen(scenario, "FailedGetScale")


def has_none_to_scale(scenario: ControllerScenario) -> Object:
    target(scenario, 0)
    autoscaler(scenario)
    return seen(scenario, "ScalingDisabled")


def has_too_many(scenario: ControllerScenario) -> Object:
    target(scenario, 7)
    autoscaler(scenario)
    return rescaled(scenario)


def has_too_few(scenario: ControllerScenario) -> Object:
    target(scenario, 1)
    autoscaler(scenario, minReplicas=3)
    return rescaled(scenario)


def wants_custom_metrics(scenario: ControllerScenario) -> Object:
    target(scenario, 2)
    asked = {"metric": {"name": "seen"}, "target": {"type": "AverageValue", "averageValue": "3"}}
    autoscaler(scenario, {"type": "Pods", "pods": asked})
    return seen(scenario, "FailedComputeMetricsReplicas")


def is_measured_by_nobody(scenario: ControllerScenario) -> Object:
    target(scenario, 2)
    autoscaler(scenario)
    return seen(scenario, "FailedComputeMetricsReplicas")


def grows(scenario: ControllerScenario) -> Object:
    target(scenario, 2)
    measured(scenario, "90m", "70m")
    autoscaler(scenario)
    return rescaled(scenario)


def is_content(scenario: ControllerScenario) -> Object:
    target(scenario, 2)
    measured(scenario, "52m", "50m")
    autoscaler(scenario)
    return seen(scenario, "DesiredWithinRange")


def shrinks_later(scenario: ControllerScenario) -> Object:
    target(scenario, 3)
    measured(scenario, "1m", "1m", "1m")
    autoscaler(scenario)
    return seen(scenario, "ScaleDownStabilized")


def shrinks_as_it_may(scenario: ControllerScenario) -> Object:
    target(scenario, 4)
    measured(scenario, "1m", "1m", "1m", "1m")
    slow = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 600}]}
    autoscaler(scenario, behavior={"scaleDown": slow})
    return rescaled(scenario, "ScaleDownLimit")


def grows_by_memory(scenario: ControllerScenario) -> Object:
    target(scenario, 2)
    measured(scenario, "50m", "50m", memory="80Mi")
    asked = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "50Mi"}}
    autoscaler(scenario, {"type": "Resource", "resource": asked}, CPU, maxReplicas=3)
    return rescaled(scenario) | {"metrics": seen(scenario, "SuccessfulRescale")["status"].get("currentMetrics")}


def lacks_requests(scenario: ControllerScenario) -> Object:
    target(scenario, 2, {})
    measured(scenario, "50m", "50m")
    autoscaler(scenario)
    found = seen(scenario, "FailedComputeMetricsReplicas")
    reasons = {f"{each['type']} {each['reason']}" for each in found["events"]}
    return {"events": sorted(reasons)}  # which of the pods is named is random


def misses_one(scenario: ControllerScenario) -> Object:
    target(scenario, 3)
    measured(scenario, "90m", "90m")
    autoscaler(scenario)
    return rescaled(scenario, "DesiredWithinRange")


SCENARIOS = (has_no_metrics_server, has_no_target, has_none_to_scale, has_too_many, has_too_few, wants_custom_metrics)
MEASURED = (
    is_measured_by_nobody, grows, is_content, shrinks_later, shrinks_as_it_may, grows_by_memory, lacks_requests, misses_one,
)  # fmt: skip
