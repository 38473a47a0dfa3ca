"""Autoscalers and what they do about their targets."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.cluster.api import Object
from tests.cluster.scenes.stage import Stage

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
"""In the place of a metrics server: what is measured is what a scene writes down."""
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}


def target(stage: Stage, replicas: int, requests: Object | None = None) -> None:
    """A Deployment that nobody looks after but the autoscaler."""
    asked = {"cpu": "100m", "memory": "100Mi"} if requests is None else requests
    containers = [{"name": "c", "image": "i", "resources": {"requests": asked}}]
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    stage.create("deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    stage.patch("deployments", "d", {"status": {"replicas": replicas}}, "status")
    for number in range(replicas):
        meta = {"name": f"p-{number}", "labels": {"app": "x"}}
        stage.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}})
        stage.kubelet.run(f"p-{number}")


def measured(stage: Stage, *cpu: str, memory: str = "50Mi") -> None:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for number, used in enumerate(cpu):
        meta = {"name": f"p-{number}", "labels": {"app": "x"}}
        body = {
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": meta, "timestamp": now, "window": "15s",
            "containers": [{"name": "c", "usage": {"cpu": used, "memory": memory}}],
        }  # fmt: skip
        stage.api.call("POST", f"/apis/metrics.k8s.io/v1beta1/namespaces/{stage.namespace}/pods", body)


def autoscaler(stage: Stage, *metrics: Object, **spec: Any) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": reference, "minReplicas": 1, "maxReplicas": 5, "metrics": list(metrics or [CPU]), **spec}
    body = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}
    stage.create("horizontalpodautoscalers", body)


def seen(stage: Stage, reason: str) -> Object:
    """Once the status says that, or an event does."""

    def told() -> bool:
        status = stage.get("horizontalpodautoscalers", "h").get("status", {})
        said = {each["reason"] for each in status.get("conditions", ())}
        return reason in said or any(each["reason"] == reason for each in stage.all("events"))

    stage.becomes(told)
    stage.becomes(lambda: stage.get("horizontalpodautoscalers", "h")["status"].get("conditions"))
    shown = stage.plain(stage.get("horizontalpodautoscalers", "h")["status"])
    shown["conditions"].sort(key=lambda each: str(each["type"]))
    replicas = None if stage.gone("deployments", "d") else stage.get("deployments", "d")["spec"]["replicas"]
    return {"status": shown, "events": stage.events("HorizontalPodAutoscaler"), "replicas": replicas}


def rescaled(stage: Stage, reason: str = "SuccessfulRescale") -> Object:
    """The conditions are those of a later look, which nothing is there for."""
    stage.event("SuccessfulRescale")
    found = seen(stage, reason)
    return {"events": [each for each in found["events"] if each["type"] == "Normal"], "replicas": found["replicas"]}


def has_no_metrics_server(stage: Stage) -> Object:
    target(stage, 2)
    autoscaler(stage)
    return seen(stage, "FailedComputeMetricsReplicas")


def has_no_target(stage: Stage) -> Object:
    autoscaler(stage)
    stage.event("FailedGetScale")
    return seen(stage, "FailedGetScale")


def has_none_to_scale(stage: Stage) -> Object:
    target(stage, 0)
    autoscaler(stage)
    return seen(stage, "ScalingDisabled")


def has_too_many(stage: Stage) -> Object:
    target(stage, 7)
    autoscaler(stage)
    return rescaled(stage)


def has_too_few(stage: Stage) -> Object:
    target(stage, 1)
    autoscaler(stage, minReplicas=3)
    return rescaled(stage)


def wants_custom_metrics(stage: Stage) -> Object:
    target(stage, 2)
    asked = {"metric": {"name": "seen"}, "target": {"type": "AverageValue", "averageValue": "3"}}
    autoscaler(stage, {"type": "Pods", "pods": asked})
    return seen(stage, "FailedComputeMetricsReplicas")


def is_measured_by_nobody(stage: Stage) -> Object:
    target(stage, 2)
    autoscaler(stage)
    return seen(stage, "FailedComputeMetricsReplicas")


def grows(stage: Stage) -> Object:
    target(stage, 2)
    measured(stage, "90m", "70m")
    autoscaler(stage)
    return rescaled(stage)


def is_content(stage: Stage) -> Object:
    target(stage, 2)
    measured(stage, "52m", "50m")
    autoscaler(stage)
    return seen(stage, "DesiredWithinRange")


def shrinks_later(stage: Stage) -> Object:
    target(stage, 3)
    measured(stage, "1m", "1m", "1m")
    autoscaler(stage)
    return seen(stage, "ScaleDownStabilized")


def shrinks_as_it_may(stage: Stage) -> Object:
    target(stage, 4)
    measured(stage, "1m", "1m", "1m", "1m")
    slow = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 600}]}
    autoscaler(stage, behavior={"scaleDown": slow})
    return rescaled(stage, "ScaleDownLimit")


def grows_by_memory(stage: Stage) -> Object:
    target(stage, 2)
    measured(stage, "50m", "50m", memory="80Mi")
    asked = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "50Mi"}}
    autoscaler(stage, {"type": "Resource", "resource": asked}, CPU, maxReplicas=3)
    return rescaled(stage) | {"metrics": seen(stage, "SuccessfulRescale")["status"].get("currentMetrics")}


def lacks_requests(stage: Stage) -> Object:
    target(stage, 2, {})
    measured(stage, "50m", "50m")
    autoscaler(stage)
    found = seen(stage, "FailedComputeMetricsReplicas")
    reasons = {f"{each['type']} {each['reason']}" for each in found["events"]}
    return {"events": sorted(reasons)}  # which of the pods is named is chance


def misses_one(stage: Stage) -> Object:
    target(stage, 3)
    measured(stage, "90m", "90m")
    autoscaler(stage)
    return rescaled(stage, "DesiredWithinRange")


SCENES = (has_no_metrics_server, has_no_target, has_none_to_scale, has_too_many, has_too_few, wants_custom_metrics)
MEASURED = (
    is_measured_by_nobody, grows, is_content, shrinks_later, shrinks_as_it_may, grows_by_memory, lacks_requests, misses_one,
)  # fmt: skip
