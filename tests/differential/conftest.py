from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.differential import sides
from tests.differential.catalogue import everything
from tests.differential.run import Report, play_all
from tests.differential.target import Target

REPORT = pytest.StashKey[Report]()


@pytest.fixture(scope="session")
def real() -> Iterator[Target]:
    with sides.real_kubeconfig() as path:
        yield Target.from_kubeconfig("real", path)


@pytest.fixture(scope="session")
def embedded() -> Iterator[Target]:
    with sides.embedded_kubeconfig() as path:
        yield Target.from_kubeconfig("ours", path)


@pytest.fixture(scope="session")
def report(real: Target, embedded: Target, request: pytest.FixtureRequest) -> Report:
    """Every scenario, played on both: once for all tests."""
    found = play_all(real, embedded, everything())
    request.config.stash[REPORT] = found
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if found := config.stash.get(REPORT, None):
        terminalreporter.section("the embedded API server against the real one")
        terminalreporter.write_line(found.tell())
