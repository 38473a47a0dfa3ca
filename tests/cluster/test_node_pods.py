"""The suite of the kubelet, with the kubelet joined to a real kube-apiserver."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.node import joined_node
from tests.node.joined_node import JoinedNode
from tests.node.local_cluster import LocalCluster
from tests.node.test_pods import *  # noqa: F403  every test of it, with the fixtures below
from tests.node.test_volumes import *  # noqa: F403

pytestmark = pytest.mark.skipif(os.environ.get("KUBE") == "1.27", reason="pods ask who they are by an API that 1.28 has")

CLAIMS = 4


@pytest.fixture(scope="module")
def cluster() -> Iterator[JoinedNode]:
    with joined_node.joined_node() as found:
        yield found


@pytest.fixture(scope="module")
def any_cluster(cluster: LocalCluster) -> LocalCluster:
    return cluster


@pytest.fixture(autouse=True, scope="module")
def volume(cluster: JoinedNode) -> None:
    """No provisioner runs here: creates one volume for each claim of these tests."""
    for number in range(CLAIMS):
        manifest = joined_node.volume(f"kept-{number}", cluster.home / f"claimed-{number}")
        cluster.api.call("POST", "/api/v1/persistentvolumes", manifest)
