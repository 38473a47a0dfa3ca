"""One cluster for each isolation level and test module. The tests of a module share it, so object names must be unique."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.node.local_cluster import LEVELS, LocalCluster

from traincrew.embedded.kubelet.runtime import isolation
from traincrew.embedded.kubelet.runtime.spec import Isolation


def started(level: str) -> Iterator[LocalCluster]:
    if level == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    cluster = LocalCluster(level)
    try:
        yield cluster.up()
    finally:
        cluster.close()


@pytest.fixture(scope="module", params=LEVELS)
def any_cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """At each isolation level."""
    yield from started(request.param)


@pytest.fixture(scope="module", params=LEVELS[:2])
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """At levels with namespaces. A level that the kernel supports must work."""
    if request.param == "user" and os.geteuid() != 0 and (why := isolation.check(Isolation.USER)):
        pytest.skip(why)
    yield from started(request.param)
