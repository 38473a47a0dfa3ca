"""The embedded controllers and kube-controller-manager in the same scenarios on the same API server."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cluster import embedded_controllers
from tests.cluster.api import Api, eventually
from tests.cluster.scenarios import autoscalers, claims, jobs, services
from tests.cluster.scenarios.scenario import ControllerScenario
from tools.kube import cluster

Scene = Callable[[ControllerScenario], Any]
PARTS = (jobs, services, claims, autoscalers)
SCENES: dict[str, Scene] = {
    f"{part.__name__.rpartition('.')[2]}: {scene.__name__}": scene for part in PARTS for scene in part.SCENES
}
MEASURED: dict[str, Scene] = {f"autoscalers: {scene.__name__}": scene for scene in autoscalers.MEASURED}
"""Played where there is something in the place of a metrics server."""
REAL = (
    "job", "ttl-after-finished", "endpoint", "endpointslice", "persistentvolume-binder", "pvc-protection", "pv-protection",
    "garbagecollector", "horizontalpodautoscaling",
)  # fmt: skip
OWN = ("job", "endpoint", "persistentvolume-binder", "persistentvolume-protection", "horizontalpodautoscaling")
AT_ONCE = 8


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    with cluster.start() as started:
        yield started


@contextlib.contextmanager
def real(kube: cluster.Cluster, *names: str) -> Iterator[None]:
    flags = (
        "--pvclaimbinder-sync-period=1s", "--concurrent-job-syncs=10", "--horizontal-pod-autoscaler-sync-period=1s",
        "--kube-api-content-type=application/json",
    )  # fmt: skip
    kube.start_controller_manager(f"--controllers={','.join(names)}", *flags)
    try:
        yield
    finally:
        kube.stop_controller_manager()


@pytest.fixture(scope="module")
def outcomes(kube: cluster.Cluster) -> dict[str, dict[str, Any]]:
    """All scenes with the real ones first, then with ours; what is collected is collected by the real collector."""
    with real(kube, *REAL):
        theirs = _play(kube)
    with real(kube, "garbagecollector"), embedded_controllers.running(kube, *OWN):
        ours = _play(kube)
    return {"theirs": theirs, "ours": ours}


def _play(kube: cluster.Cluster) -> dict[str, Any]:
    play = functools.partial(_scene, kube)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(SCENES, pool.map(play, SCENES.values()), strict=True))
        with _metrics(Api(kube.kubeconfig)):
            return found | dict(zip(MEASURED, pool.map(play, MEASURED.values()), strict=True))


@contextlib.contextmanager
def _metrics(api: Api) -> Iterator[None]:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.call("POST", path, autoscalers.METRICS)
    eventually(lambda: api.call("GET", "/apis/metrics.k8s.io/v1beta1/pods"))
    yield
    name = autoscalers.METRICS["metadata"]["name"]
    api.call("DELETE", f"{path}/{name}")
    eventually(lambda: name not in {each["metadata"]["name"] for each in api.call("GET", path)["items"]})


def _scene(kube: cluster.Cluster, scene: Scene) -> Any:
    namespace = f"scene-{uuid.uuid4().hex[:10]}"
    Api(kube.kubeconfig).call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    try:
        return scene(ControllerScenario(kube.kubeconfig, namespace))
    except Exception as error:  # reported by the test of that scenario alone
        return f"{type(error).__name__}: {error} ({error.__cause__!r})"


@pytest.mark.parametrize("scene", [*SCENES, *MEASURED])
def test_our_controllers_leave_behind_what_the_real_ones_do(outcomes: dict[str, dict[str, Any]], scene: str) -> None:
    assert outcomes["ours"][scene] == outcomes["theirs"][scene]
    assert not isinstance(outcomes["theirs"][scene], str), outcomes["theirs"][scene]
