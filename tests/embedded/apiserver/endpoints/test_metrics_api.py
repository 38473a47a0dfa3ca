"""metrics.k8s.io: the usage of existing pods and nodes."""

from __future__ import annotations

import datetime as dt
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from traincrew import errors, settings
from traincrew.app import cluster
from traincrew.client import interfaces
from traincrew.embedded.apiserver.discovery import documents
from traincrew.embedded.apiserver.requests.metrics_source import Measurement, PodMetrics, Usage
from traincrew.embedded.bootstrap import bootstrap, ensure
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.model.resources import NODES, PODS, Resource

POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)
TAKEN = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)


async def measurement() -> Measurement:
    pods = [
        PodMetrics("default", name, {"main": Usage(0.25, 3 * 2**20), "side": Usage(1e-9, 2047)}) for name in ("b", "a", "left")
    ]
    return Measurement(TAKEN, dt.timedelta(seconds=15.5), pods, {"here": Usage(1.5, 2**30), "elsewhere": Usage(1, 1)})


@pytest.fixture
async def daemon(tmp_path: pathlib.Path) -> AsyncIterator[ControlPlane]:
    control_plane = ControlPlane(
        Options(tmp_path, "127.0.0.1", 0, cluster.bootstrap_objects(settings.Cluster()), tmp_path / "log", "0")
    )
    client = control_plane.system_client("test")
    try:
        await bootstrap(control_plane.system_client("bootstrap"), control_plane.options.bootstrap)
        await ensure(client, NODES, {"metadata": {"name": "here"}})
        for name in ("a", "b"):
            meta = {"name": name, "namespace": "default", "labels": {"is": name}}
            await ensure(client, PODS, {"metadata": meta, "spec": {"containers": [{"name": "main", "image": "i"}]}})
        yield control_plane
    finally:
        await control_plane.store.close()


async def test_what_the_node_reports_in_addition_is_an_annotation(daemon: ControlPlane) -> None:
    async def with_activity() -> Measurement:
        return Measurement(TAKEN, dt.timedelta(seconds=5), [PodMetrics("default", "a", {}, {"example.org/seen": "now"})])

    daemon.cluster.metrics = with_activity
    metrics = msgspec.json.decode(await daemon.system_client("test").get(POD_METRICS, "default", "a"))
    assert metrics["metadata"]["annotations"] == {"example.org/seen": "now"}


async def listed(
    client: interfaces.Client, resource: Resource, namespace: str | None = None, labels: str = ""
) -> list[dict[str, Any]]:
    return [msgspec.json.decode(each) async for page in client.pages(resource, namespace, labels=labels) for each in page.items]


async def test_existing_pods_and_nodes_are_listed_as_by_a_metrics_server(daemon: ControlPlane) -> None:
    daemon.cluster.metrics = measurement
    client = daemon.system_client("test")
    assert [each["metadata"]["name"] for each in await listed(client, POD_METRICS)] == ["a", "b"]
    metrics = msgspec.json.decode(await client.get(POD_METRICS, "default", "b"))
    assert metrics["metadata"].pop("creationTimestamp")
    assert metrics == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {"name": "b", "namespace": "default", "labels": {"is": "b"}},
        "timestamp": "2030-01-01T12:00:00Z",
        "window": "15.5s",
        "containers": [
            {"name": "main", "usage": {"cpu": "250000000n", "memory": "3072Ki"}},
            {"name": "side", "usage": {"cpu": "1n", "memory": "1Ki"}},
        ],
    }
    nodes = await listed(client, NODE_METRICS)
    assert [(each["metadata"]["name"], each["usage"]["cpu"]) for each in nodes] == [("here", "1500000000n")]


async def test_selectors_match_the_labels_of_the_pods(daemon: ControlPlane) -> None:
    daemon.cluster.metrics = measurement
    client = daemon.system_client("test")
    assert [each["metadata"]["name"] for each in await listed(client, POD_METRICS, "default", "is=a")] == ["a"]
    assert await listed(client, POD_METRICS, "kube-system") == []


async def test_without_a_metrics_source_the_lists_are_empty(daemon: ControlPlane) -> None:
    client = daemon.system_client("test")
    assert await listed(client, POD_METRICS) == await listed(client, NODE_METRICS) == []
    with pytest.raises(errors.NotFound, match=r'podmetrics\.metrics\.k8s\.io "default/a" not found'):
        await client.get(POD_METRICS, "default", "a")
    with pytest.raises(errors.NotFound, match=r'nodemetrics\.metrics\.k8s\.io "here" not found'):
        await client.get(NODE_METRICS, None, "here")
    shown = documents.resource_list(tuple(daemon.registry), "metrics.k8s.io", "v1beta1")
    assert shown is not None
    assert [(each["name"], each["kind"], each["verbs"]) for each in shown["resources"]] == [
        ("nodes", "NodeMetrics", ["get", "list"]),
        ("pods", "PodMetrics", ["get", "list"]),
    ]


async def test_metrics_cannot_be_written(daemon: ControlPlane) -> None:
    with pytest.raises(errors.ApiError, match="does not allow this method"):
        await daemon.system_client("test").delete(POD_METRICS, "default", "a")
