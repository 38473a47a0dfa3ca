from __future__ import annotations

import json
from typing import Any

import pytest

from traincrew.embedded.apiserver.registry.builtin.autoscaling import autoscaler_conversion

REFERENCE = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
PODS = {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "5"}}}
OBJECT = {
    "type": "Object",
    "object": {"describedObject": REFERENCE, "metric": {"name": "m"}, "target": {"type": "Value", "value": "5"}},
}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "Value", "value": "5"}},
}
CONTAINER = {
    "type": "ContainerResource",
    "containerResource": {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 5}},
}
BEHAVIOR = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
    },
    "scaleDown": {"selectPolicy": "Min", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
}


def autoscaler(*metrics: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    spec_fields = {"scaleTargetRef": REFERENCE, "minReplicas": 1, "maxReplicas": 3, "metrics": list(metrics), **spec}
    return {
        "metadata": {"name": "a"},
        "spec": spec_fields,
        "status": {"desiredReplicas": 0, "currentMetrics": None} | (status or {}),
    }


def test_cpu_utilization_is_a_field_of_v1_and_other_metrics_are_annotations() -> None:
    older = autoscaler_conversion.older(autoscaler(MEMORY, CPU))
    assert older["spec"]["targetCPUUtilizationPercentage"] == 60
    carried = json.loads(older["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"])
    assert carried == [{"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}]


@pytest.mark.parametrize("metric", [CPU, MEMORY, PODS, OBJECT, EXTERNAL, CONTAINER], ids=lambda each: str(each["type"]))
def test_conversion_round_trips(metric: dict[str, Any]) -> None:
    conditions = [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}]
    current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 5, "averageValue": "1"}}}]
    status = {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": current, "conditions": conditions}
    newer = autoscaler(metric, status=status, behavior=BEHAVIOR)
    assert autoscaler_conversion.newer(autoscaler_conversion.older(newer)) == newer


def test_without_metrics_the_default_metric_is_converted() -> None:
    older = {"metadata": {"name": "a"}, "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3}}
    metrics = autoscaler_conversion.newer(older)["spec"]["metrics"]
    assert metrics[0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}


def test_malformed_annotations_are_ignored_and_dropped() -> None:
    broken = {"autoscaling.alpha.kubernetes.io/metrics": "{", "kept": "x"}
    older = {"metadata": {"name": "a", "annotations": broken}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 5}}
    newer = autoscaler_conversion.newer(older)
    assert newer["metadata"]["annotations"] == {"kept": "x"}
    assert len(newer["spec"]["metrics"]) == 1
