from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.differential import servers
from tests.differential.runner import ScenarioReport, run_all
from tests.differential.scenario_list import all_scenarios
from tests.differential.target import Target

REPORT = pytest.StashKey[ScenarioReport]()


@pytest.fixture(scope="session")
def real() -> Iterator[Target]:
    with servers.real_kubeconfig() as path:
        yield Target.from_kubeconfig("real", path)


@pytest.fixture(scope="session")
def embedded() -> Iterator[Target]:
    with servers.embedded_kubeconfig() as path:
        yield Target.from_kubeconfig("ours", path)


@pytest.fixture(scope="session")
def report(real: Target, embedded: Target, request: pytest.FixtureRequest) -> ScenarioReport:
    """Every scenario, run on both servers once for all tests."""
    result = run_all(real, embedded, all_scenarios())
    request.config.stash[REPORT] = result
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if result := config.stash.get(REPORT, None):
        terminalreporter.section("the embedded API server against the real one")
        terminalreporter.write_line(result.summary())
