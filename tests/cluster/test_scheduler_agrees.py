"""The embedded scheduler and kube-scheduler in the same scenarios: nodes, conditions, victims and events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster import scheduling_scenarios as scenes
from tests.cluster.api import Api, Object
from tools.kube import cluster, control_plane


@pytest.fixture(scope="module")
def server() -> Iterator[cluster.OwnCluster]:
    # Else every new node would be tainted until a kubelet says that it is ready.
    options = control_plane.Options(disabled_admission=("ServiceAccount", "TaintNodesByCondition"))
    with cluster.start(options) as started:
        scenes.prepare(Api(started.kubeconfig))
        yield started


@pytest.fixture(scope="module")
def real(server: cluster.OwnCluster) -> dict[str, Object]:
    """What kube-scheduler makes of every scene; it has left before ours begins."""
    api = Api(server.kubeconfig)
    server.start_scheduler()
    try:
        return {name: scenes.played(api, scene) for name, scene in scenes.SCENES.items()}
    finally:
        server.plane.kill("kube-scheduler")


@pytest.fixture(scope="module")
def own(server: cluster.OwnCluster, real: dict[str, Object]) -> dict[str, Object]:
    api = Api(server.kubeconfig)
    with scenes.ours(server.kubeconfig):
        return {name: scenes.played(api, scene) for name, scene in scenes.SCENES.items()}


@pytest.mark.parametrize("name", scenes.SCENES)
def test_both_make_the_same_of_a_scene(name: str, real: dict[str, Object], own: dict[str, Object]) -> None:
    assert own[name] == real[name]
