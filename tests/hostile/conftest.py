"""Clusters for attacks, at levels root and user. After a test nothing of its pods is left, after the last one nothing at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.hostile.hostile_cluster import LEVELS, HostileCluster


def _cluster(level: str) -> Iterator[HostileCluster]:
    cluster = HostileCluster(level)
    try:
        if why := cluster.unavailable():
            pytest.skip(why)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module", params=LEVELS)
def running_cluster(request: pytest.FixtureRequest) -> Iterator[HostileCluster]:
    for cluster in _cluster(request.param):
        cluster.up()
        yield cluster


@pytest.fixture
def cluster(running_cluster: HostileCluster) -> Iterator[HostileCluster]:
    """The cluster of the module, without pods."""
    yield running_cluster
    running_cluster.clear()


@pytest.fixture(params=LEVELS)
def fresh(request: pytest.FixtureRequest) -> Iterator[HostileCluster]:
    """A cluster of one test that is not started yet."""
    yield from _cluster(request.param)
