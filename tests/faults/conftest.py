"""A cluster of three joined nodes, and a directory that all of them have."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator

import pytest
from tests.faults import faulty_cluster
from tests.faults.faulty_cluster import FaultyCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[FaultyCluster]:
    with faulty_cluster.running() as found:
        yield found


@pytest.fixture
def shared() -> Iterator[pathlib.Path]:
    """A directory that all nodes have."""
    with tempfile.TemporaryDirectory(prefix="traincrew-faults-", dir="/var/tmp") as name:
        path = pathlib.Path(name)
        path.chmod(0o777)
        yield path
