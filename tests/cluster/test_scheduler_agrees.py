"""The embedded scheduler and kube-scheduler in the same scenarios: nodes, conditions, victims and events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster import scheduling_scenarios as scenarios
from tests.cluster.api import Api, Object
from tools.kube import cluster, control_plane


@pytest.fixture(scope="module")
def server() -> Iterator[cluster.OwnCluster]:
    # Else every new node would be tainted until a kubelet says that it is ready.
    options = control_plane.Options(disabled_admission=("ServiceAccount", "TaintNodesByCondition"))
    with cluster.start(options) as started:
        scenarios.prepare(Api(started.kubeconfig))
        yield started


@pytest.fixture(scope="module")
def real(server: cluster.OwnCluster) -> dict[str, Object]:
    """What kube-scheduler does in every scenario. It is stopped before ours starts."""
    api = Api(server.kubeconfig)
    server.start_scheduler()
    try:
        return {name: scenarios.run(api, scenario) for name, scenario in scenarios.SCENARIOS.items()}
    finally:
        server.plane.kill("kube-scheduler")


@pytest.fixture(scope="module")
def own(server: cluster.OwnCluster, real: dict[str, Object]) -> dict[str, Object]:
    api = Api(server.kubeconfig)
    with scenarios.ours(server.kubeconfig):
        return {name: scenarios.run(api, scenario) for name, scenario in scenarios.SCENARIOS.items()}


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_both_schedulers_do_the_same(name: str, real: dict[str, Object], own: dict[str, Object]) -> None:
    assert own[name] == real[name]
