"""Jobs of the seeds and the examples with real frameworks: one cluster per module, with progress output."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from _pytest.capture import CaptureManager
from _pytest.terminal import TerminalReporter
from tests.seeds.clusters import Cluster, Say

_BEGAN = time.monotonic()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/seeds" in item.nodeid:
            item.add_marker(pytest.mark.frameworks)


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Say:
    """Print progress while the test runs."""
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def tell(line: str) -> None:
        if isinstance(reporter, TerminalReporter) and isinstance(capture, CaptureManager):
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"[{time.monotonic() - _BEGAN:6.1f} s] {line}")

    return tell


@pytest.fixture(autouse=True)
def timed(request: pytest.FixtureRequest, say: Say) -> Iterator[None]:
    say(f"== {request.node.name}")
    began = time.monotonic()
    yield
    say(f"== {request.node.name}: {time.monotonic() - began:.1f} s")


@pytest.fixture(scope="module")
def cluster_flags() -> tuple[str, ...]:
    """Flags of `traincrew up` in this module."""
    return ()


@pytest.fixture(scope="module")
def cluster(say: Say, cluster_flags: tuple[str, ...]) -> Iterator[Cluster]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    began = time.monotonic()
    made = Cluster(say, *cluster_flags)
    try:
        made.up()
        say(f"a cluster is up after {time.monotonic() - began:.1f} s")
        yield made
    finally:
        made.close()
