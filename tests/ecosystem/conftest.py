"""Controllers of other projects on a real API server. They are built once: `make test-ecosystem`."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tests.cluster.api import Api
from tests.ecosystem import cluster_with_controllers
from tools.kube import cluster


@pytest.fixture
def kube() -> Iterator[cluster.Cluster]:
    with cluster_with_controllers.started() as started:
        yield started


@pytest.fixture
def api(kube: cluster.Cluster) -> Api:
    return Api(kube.kubeconfig)


@pytest.fixture
def account(kube: cluster.Cluster, api: Api) -> pathlib.Path:
    """A kubeconfig of the operator's service account."""
    return cluster_with_controllers.account(kube)
