from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.console_cluster.release import NAMESPACE, Release
from tests.install import mapped_node
from tests.node.joined_node import JoinedNode

from traincrew.console import page_files


@pytest.fixture(scope="session")
def machine() -> Iterator[JoinedNode]:
    """A namespace that admits no pod which is not restricted."""
    assert page_files.is_built(), "run `make console`"
    with mapped_node.running() as node:
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        metadata = {"name": NAMESPACE, "labels": labels}
        node.api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        yield node


@pytest.fixture(scope="module")
def release(machine: JoinedNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """Nothing is installed yet."""
    found = Release(machine, tmp_path_factory.mktemp("release"))
    yield found
    found.remove()
