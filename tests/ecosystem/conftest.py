"""Controllers of other projects on a real API server. They are built once: `make test-ecosystem`."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster import controller_manager, installed_operators
from tests.cluster.api import Api
from tools.kube import cluster

CONTROLLERS = ("deployment", "replicaset", "serviceaccount", "garbagecollector", "job")


@pytest.fixture
def kube() -> Iterator[cluster.Cluster]:
    with cluster.start() as started, controller_manager.running(started, *CONTROLLERS):
        installed_operators.install(started)
        yield started


@pytest.fixture
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


@pytest.fixture
def account(kube: cluster.Cluster, api: Api) -> pathlib.Path:
    """A kubeconfig of the operator's service account."""
    return kube.token_kubeconfig(installed_operators.NAMESPACE, "traincrew")
