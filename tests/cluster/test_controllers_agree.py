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

Scenario = Callable[[ControllerScenario], Any]
PARTS = (jobs, services, claims, autoscalers)
SCENARIOS: dict[str, Scenario] = {
    f"{part.__name__.rpartition('.')[2]}: {scenario.__name__}": scenario for part in PARTS for scenario in part.SCENARIOS
}
MEASURED: dict[str, Scenario] = {f"autoscalers: {scenario.__name__}": scenario for scenario in autoscalers.MEASURED}
"""Run where objects take the place of a metrics server."""
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
    """All scenarios with the real controllers first, then with ours. The garbage collector is the real one in both."""
    with real(kube, *REAL):
        theirs = _run_all(kube)
    with real(kube, "garbagecollector"), embedded_controllers.running(kube, *OWN):
        ours = _run_all(kube)
    return {"theirs": theirs, "ours": ours}


def _run_all(kube: cluster.Cluster) -> dict[str, Any]:
    run = functools.partial(_run, kube)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(SCENARIOS, pool.map(run, SCENARIOS.values()), strict=True))
        with _metrics(Api(kube.kubeconfig)):
            return found | dict(zip(MEASURED, pool.map(run, MEASURED.values()), strict=True))


@contextlib.contextmanager
def _metrics(api: Api) -> Iterator[None]:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.call("POST", path, autoscalers.METRICS)
    eventually(lambda: api.call("GET", "/apis/metrics.k8s.io/v1beta1/pods"))
    yield
    name = autoscalers.METRICS["metadata"]["name"]
    api.call("DELETE", f"{path}/{name}")
    eventually(lambda: name not in {each["metadata"]["name"] for each in api.call("GET", path)["items"]})


def _run(kube: cluster.Cluster, scenario: Scenario) -> Any:
    namespace = f"scenario-{uuid.uuid4().hex[:10]}"
    Api(kube.kubeconfig).call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    try:
        return scenario(ControllerScenario(kube.kubeconfig, namespace))
    except Exception as error:  # reported by the test of that scenario alone
        return f"{type(error).__name__}: {error} ({error.__cause__!r})"


@pytest.mark.parametrize("scenario", [*SCENARIOS, *MEASURED])
def test_our_controllers_leave_behind_what_the_real_ones_do(outcomes: dict[str, dict[str, Any]], scenario: str) -> None:
    assert outcomes["ours"][scenario] == outcomes["theirs"][scenario]
    assert not isinstance(outcomes["theirs"][scenario], str), outcomes["theirs"][scenario]
