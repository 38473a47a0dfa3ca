"""Horizontal pod autoscalers, in either version, and scales."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery.durations import UNKNOWN, Ages
from traincrew.embedded.apiserver.printers.builtin.cells import NONE, UNSET, Fields, Metadata, Quantity, Reference
from traincrew.embedded.apiserver.printers.columns import Printer, definitions

_MAX_METRICS = 2


class Value(Fields):
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: int | None = None


class MetricSource(Fields):
    name: str = ""
    target: Value = msgspec.field(default_factory=Value)
    current: Value = msgspec.field(default_factory=Value)


class MetricSpec(Fields):
    type: str = ""
    resource: MetricSource | None = None
    container_resource: MetricSource | None = None
    pods: MetricSource | None = None
    object: MetricSource | None = None
    external: MetricSource | None = None

    def source(self, type: str) -> MetricSource | None:
        known = {
            "Resource": self.resource,
            "ContainerResource": self.container_resource,
            "Pods": self.pods,
            "Object": self.object,
            "External": self.external,
        }
        return known.get(type)


class AutoscalerSpec(Fields):
    scale_target_ref: Reference = msgspec.field(default_factory=Reference)
    min_replicas: int | None = None
    max_replicas: int = 0
    metrics: list[MetricSpec] = []
    target_cpu: int | None = msgspec.field(name="targetCPUUtilizationPercentage", default=None)


class AutoscalerStatus(Fields):
    current_replicas: int = 0
    current_metrics: list[MetricSpec] | None = []
    current_cpu: int | None = msgspec.field(name="currentCPUUtilizationPercentage", default=None)


class Autoscaler(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: AutoscalerSpec = msgspec.field(default_factory=AutoscalerSpec)
    status: AutoscalerStatus = msgspec.field(default_factory=AutoscalerStatus)


def _autoscaler(kept: Autoscaler, ages: Ages) -> list[Any]:
    spec, target = kept.spec, kept.spec.scale_target_ref
    least = UNSET if spec.min_replicas is None else str(spec.min_replicas)
    cells = [kept.metadata.name, f"{target.kind}/{target.name}", _metrics(kept), least, spec.max_replicas]
    return [*cells, kept.status.current_replicas, ages.since(kept.metadata.creation_timestamp)]


def _metrics(kept: Autoscaler) -> str:
    metrics, current = kept.spec.metrics, kept.status.current_metrics or []
    if kept.spec.target_cpu is not None:  # version v1 knows only this one
        metrics = [_cpu(target=Value(average_utilization=kept.spec.target_cpu)), *metrics]
        current = [_cpu(current=Value(average_utilization=kept.status.current_cpu)), *current]
    cells = [_metric(metric, current[index] if index < len(current) else None) for index, metric in enumerate(metrics)]
    shown = ", ".join(cells[:_MAX_METRICS])
    return f"{shown} + {len(cells) - _MAX_METRICS} more..." if len(cells) > _MAX_METRICS else shown or NONE


def _cpu(**values: Value) -> MetricSpec:
    return MetricSpec(type="Resource", resource=MetricSource(name="cpu", **values))


def _metric(metric: MetricSpec, status: MetricSpec | None) -> str:
    source = metric.source(metric.type)
    if source is None:
        return "<unknown type>"
    status_source = status.source(metric.type) if status is not None else None
    current, target = status_source.current if status_source is not None else Value(), source.target
    if metric.type in ("Resource", "ContainerResource"):
        return f"{source.name}: {_resource(current, target)}"
    if metric.type == "Pods":
        return f"{_quantity(current.average_value)}/{_quantity(target.average_value)}"
    if target.average_value is not None:
        return f"{_quantity(current.average_value)}/{_quantity(target.average_value)} (avg)"
    return f"{_quantity(current.value)}/{_quantity(target.value)}"


def _resource(current: Value, target: Value) -> str:
    if target.average_value is not None:
        return f"{_quantity(current.average_value)}/{_quantity(target.average_value)}"
    used, desired = current.average_utilization, target.average_utilization
    return f"{UNKNOWN if used is None else f'{used}%'}/{'<auto>' if desired is None else f'{desired}%'}"


def _quantity(value: Quantity | None) -> str:
    return UNKNOWN if value is None else str(value)


class ScaleReplicas(Fields):
    replicas: int = 0


class Scale(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ScaleReplicas = msgspec.field(default_factory=ScaleReplicas)
    status: ScaleReplicas = msgspec.field(default_factory=ScaleReplicas)


def _scale(kept: Scale, ages: Ages) -> list[Any]:
    age = ages.since(kept.metadata.creation_timestamp)
    return [kept.metadata.name, kept.spec.replicas, kept.status.replicas, age]


_AUTOSCALER = definitions("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age")
_SCALE = definitions("Name:string:", "Desired:integer", "Available:integer", "Age")
PRINTERS = {
    ("autoscaling", "HorizontalPodAutoscaler"): Printer(_AUTOSCALER, Autoscaler, _autoscaler),
    ("autoscaling", "Scale"): Printer(_SCALE, Scale, _scale),
}
