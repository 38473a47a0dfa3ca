"""metrics.k8s.io: the current usage of pods and nodes, as a metrics server reports it. It is not stored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from traincrew.apimachinery import api_errors, times
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.metrics_source import Measurement, Usage
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded
from traincrew.embedded.apiserver.storage.records import Key, Record, SelectableFields

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_VERBS = ("get", "list")
RESOURCES = (
    ResourceInfo(GROUP, VERSION, "nodes", "NodeMetrics", False, {}, list_kind="NodeMetricsList", verbs=_VERBS),
    ResourceInfo(GROUP, VERSION, "pods", "PodMetrics", True, {}, list_kind="PodMetricsList", verbs=_VERBS),
)


def is_metrics(info: ResourceInfo) -> bool:
    return info.group == GROUP and info.definition is None


async def get(scope: RequestScope, request: ApiRequest) -> Response:
    for record in await records(scope, request):
        if record.key.name == request.name:
            return Response(200, record.value)
    name = f"{request.namespace}/{request.name}" if request.namespace else request.name
    raise api_errors.not_found(api_errors.StatusDetails(request.info.kind.lower(), GROUP, name))


async def records(scope: RequestScope, request: ApiRequest) -> list[Record]:
    """Sorted; each with the labels of its pod or node. Deleted pods and nodes are left out."""
    if scope.metrics is None:
        return []
    measurement = await scope.metrics()
    objects = _pods(scope, measurement, request.namespace) if request.info.namespaced else _nodes(scope, measurement)
    return sorted(objects, key=lambda record: (record.key.namespace, record.key.name))


def _pods(scope: RequestScope, measurement: Measurement, namespace: str) -> Iterator[Record]:
    for pod in measurement.pods:
        if namespace in ("", pod.namespace) and (about := scope.store.get(Key("pods", pod.namespace, pod.name))) is not None:
            containers = [{"name": name, "usage": _usage(usage)} for name, usage in pod.containers.items()]
            metrics = {**_times(measurement), "containers": containers}
            yield _record(RESOURCES[1], scope, about, metrics, pod.annotations)


def _nodes(scope: RequestScope, measurement: Measurement) -> Iterator[Record]:
    for name, usage in measurement.nodes.items():
        if (about := scope.store.get(Key("nodes", "", name))) is not None:
            yield _record(RESOURCES[0], scope, about, {**_times(measurement), "usage": _usage(usage)})


def _record(
    info: ResourceInfo, scope: RequestScope, about: Record, metrics: Object, annotations: Mapping[str, str] | None = None
) -> Record:
    key, labels = about.key, about.selectable.labels
    metadata: Object = {"name": key.name, "creationTimestamp": scope.now()}
    if key.namespace:
        metadata["namespace"] = key.namespace
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    body = encoded({"kind": info.kind, "apiVersion": info.api_version, "metadata": metadata, **metrics})
    return Record(Key(info.store_name, key.namespace, key.name), scope.store.revision, body, SelectableFields(labels, {}))


def _times(measurement: Measurement) -> Object:
    seconds = measurement.window.total_seconds()
    return {"timestamp": times.rfc3339(measurement.taken), "window": f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"}


def _usage(usage: Usage) -> Object:
    return {"cpu": f"{math.ceil(usage.cpu * 1e9)}n", "memory": f"{usage.memory // 1024}Ki"}
