"""metrics.k8s.io: what pods and nodes use just now, as a metrics server tells it. Nothing of it is stored."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import Object, ResourceInfo
from traincrew.embedded.apiserver.requests.metrics_source import Measurement, Usage
from traincrew.embedded.apiserver.requests.request import Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded, written
from traincrew.embedded.apiserver.storage.records import Facts, Key, Record

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_VERBS = ("get", "list")
RESOURCES = (
    ResourceInfo(GROUP, VERSION, "nodes", "NodeMetrics", False, {}, list_kind="NodeMetricsList", verbs=_VERBS),
    ResourceInfo(GROUP, VERSION, "pods", "PodMetrics", True, {}, list_kind="PodMetricsList", verbs=_VERBS),
)


def measured(served: ResourceInfo) -> bool:
    return served.group == GROUP and served.definition is None


async def get(cluster: RequestScope, call: Request) -> Response:
    for record in await records(cluster, call):
        if record.key.name == call.name:
            return Response(200, record.value)
    name = f"{call.namespace}/{call.name}" if call.namespace else call.name
    raise api_errors.not_found(api_errors.StatusDetails(call.served.kind.lower(), GROUP, name))


async def records(cluster: RequestScope, call: Request) -> list[Record]:
    """In order, each with the labels of the pod or node that it is about; what is no longer there is left out."""
    if cluster.metrics is None:
        return []
    found = await cluster.metrics()
    made = _pods(cluster, found, call.namespace) if call.served.namespaced else _nodes(cluster, found)
    return sorted(made, key=lambda record: (record.key.namespace, record.key.name))


def _pods(cluster: RequestScope, found: Measurement, namespace: str) -> Iterator[Record]:
    for pod in found.pods:
        if namespace in ("", pod.namespace) and (about := cluster.store.get(Key("pods", pod.namespace, pod.name))) is not None:
            containers = [{"name": name, "usage": _shown(usage)} for name, usage in pod.containers.items()]
            yield _record(RESOURCES[1], cluster, about, {**_times(found), "containers": containers})


def _nodes(cluster: RequestScope, found: Measurement) -> Iterator[Record]:
    for name, usage in found.nodes.items():
        if (about := cluster.store.get(Key("nodes", "", name))) is not None:
            yield _record(RESOURCES[0], cluster, about, {**_times(found), "usage": _shown(usage)})


def _record(served: ResourceInfo, cluster: RequestScope, about: Record, told: Object) -> Record:
    key, labels = about.key, about.facts.labels
    metadata: Object = {"name": key.name, "creationTimestamp": cluster.now()}
    if key.namespace:
        metadata["namespace"] = key.namespace
    if labels:
        metadata["labels"] = dict(labels)
    body = encoded({"kind": served.kind, "apiVersion": served.api_version, "metadata": metadata, **told})
    return Record(Key(served.store_name, key.namespace, key.name), cluster.store.revision, body, Facts(labels, {}))


def _times(found: Measurement) -> Object:
    seconds = found.window.total_seconds()
    return {"timestamp": written(found.taken.astimezone(dt.UTC)), "window": f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"}


def _shown(usage: Usage) -> Object:
    return {"cpu": f"{math.ceil(usage.cpu * 1e9)}n", "memory": f"{usage.memory // 1024}Ki"}
