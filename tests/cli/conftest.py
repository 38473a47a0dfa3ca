from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.cli import cluster_fixture
from tests.cli.cluster_fixture import Cluster, JobCluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_fixture.cluster(tmp_path_factory.mktemp("cli") / "data") as found:
        yield found


@pytest.fixture
async def job_cluster(cluster: Cluster, tmp_path: pathlib.Path) -> AsyncIterator[JobCluster]:
    async with cluster_fixture.job_cluster(cluster, tmp_path) as found:
        yield found
