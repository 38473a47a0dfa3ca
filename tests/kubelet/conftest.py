"""One node for the whole run, with the operator installed by the Helm chart."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.kubelet.installed_operator import InstalledOperator
from tests.kubelet.jobs import Jobs
from tests.kubelet.kubernetes_node import KubernetesNode
from tests.kubelet.run import WORK


@pytest.fixture(scope="session")
def node() -> Iterator[KubernetesNode]:
    if WORK not in os.environ:
        pytest.skip("run `make test-kubelet` as root")
    found = KubernetesNode()
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session")
def operator(node: KubernetesNode) -> InstalledOperator:
    found = InstalledOperator(node)
    found.install()
    return found


@pytest.fixture(scope="session")
def jobs(node: KubernetesNode, operator: InstalledOperator) -> Jobs:
    return Jobs(node)
