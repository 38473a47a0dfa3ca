"""Runs every scenario on both servers and reports where they differ.

    python -m tests.differential.runner [--only TEXT] [--replay] [--twice]

`--twice` compares two real API servers: a difference between them is a defect of the comparison.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import traceback
import uuid
from collections.abc import Iterator, Sequence

from tests.differential import servers
from tests.differential.accepted_differences import ACCEPTED, Accepted
from tests.differential.comparison import ABSENT, Difference, ScenarioComparison
from tests.differential.recording import RecordedEntry
from tests.differential.replay import ScenarioReplay, recordings
from tests.differential.scenario_client import ScenarioClient, ScenarioStep
from tests.differential.scenario_list import Scenario, all_scenarios
from tests.differential.target import Target

CONCURRENCY = 4


@dataclasses.dataclass(frozen=True)
class ScenarioResult:
    scenario: Scenario
    requests: int
    differences: tuple[Difference, ...]


@dataclasses.dataclass(frozen=True)
class ScenarioReport:
    results: tuple[ScenarioResult, ...]

    @property
    def requests(self) -> int:
        return sum(each.requests for each in self.results)

    @property
    def differences(self) -> list[Difference]:
        return [difference for each in self.results for difference in each.differences]

    @functools.cached_property
    def open(self) -> list[Difference]:
        """Differences that are not accepted."""
        return [difference for difference in self.differences if not any(each.covers(difference) for each in ACCEPTED)]

    @property
    def stale(self) -> list[Accepted]:
        return [each for each in ACCEPTED if not any(each.covers(difference) for difference in self.differences)]

    def summary(self) -> str:
        areas = {each.scenario.name: each.scenario.area for each in self.results}
        counted = collections.Counter(areas[difference.case] for difference in self.open)
        lines = [str(difference) for difference in self.open]
        lines += [f"{count:5} open in {area}" for area, count in counted.most_common()]
        totals = f"{self.requests} requests in {len(self.results)} scenarios, {len(self.differences)} differences"
        return "\n".join([*lines, f"{totals}, {len(self.differences) - len(self.open)} of them accepted"])


def run_all(real: Target, ours: Target, selected: Sequence[Scenario]) -> ScenarioReport:
    run = uuid.uuid4().hex[:5]
    with concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as pool:
        return ScenarioReport(tuple(pool.map(lambda scenario: compare_servers(scenario, real, ours, run), selected)))


def compare_servers(scenario: Scenario, real: Target, ours: Target, run: str) -> ScenarioResult:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        steps = list(pool.map(lambda target: _run(scenario, target, run), (real, ours)))
    return ScenarioResult(scenario, len(steps[0]), tuple(_compared(scenario.name, *steps)))


def replay_all(real: Target, ours: Target, selected: str = "") -> ScenarioReport:
    """Replays the requests of real clients, one recording after the other."""
    return ScenarioReport(tuple(_replayed(name, entries, (real, ours)) for name, entries in recordings() if selected in name))


def _replayed(name: str, entries: list[RecordedEntry], targets: tuple[Target, Target]) -> ScenarioResult:
    run = uuid.uuid4().hex[:5]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        steps = list(pool.map(lambda target: ScenarioReplay(target, name, run).run(entries), targets))
    scenario = Scenario("recordings", name, lambda client: None, False)
    return ScenarioResult(scenario, len(steps[0]), tuple(_compared(name, *steps)))


def _run(scenario: Scenario, target: Target, run: str) -> list[ScenarioStep]:
    client = ScenarioClient(target, scenario.name, run)
    with contextlib.closing(client), _namespace(scenario, client):
        try:
            scenario.act(client)
        except Exception:  # a scenario that fails on only one server is a difference, too
            client.steps.append(ScenarioStep("the scenario itself", traceback.format_exc(limit=-1)))
    return client.steps


@contextlib.contextmanager
def _namespace(scenario: Scenario, client: ScenarioClient) -> Iterator[None]:
    """A namespace with the objects that controllers create in it, so that none appears in the middle of a scenario."""
    if not scenario.namespaced:
        yield
        return
    namespace = client.path("namespaces", client.namespace)
    metadata = {"name": client.namespace, "labels": {"scenario": client.namespace}}
    client.prepare("POST", client.path("namespaces"), {"metadata": metadata})
    client.wait_for(client.path("serviceaccounts", "default"))
    client.wait_for(client.path("configmaps", "kube-root-ca.crt"))
    yield
    client.use_administrator()
    client.prepare("DELETE", namespace)


def _compared(case: str, real: list[ScenarioStep], ours: list[ScenarioStep]) -> Iterator[Difference]:
    comparison = ScenarioComparison()
    for one, other in zip(real, ours, strict=False):
        for path, left, right in comparison.responses(one.seen, other.seen):
            yield Difference(case, one.request, path, left, right)
    if len(real) != len(ours):
        yield Difference(case, "all", "steps", str(len(real)), str(len(ours)) if ours else ABSENT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="scenarios or areas whose name contains this")
    parser.add_argument("--replay", action="store_true", help="replay the requests of real clients instead of the scenarios")
    parser.add_argument("--twice", action="store_true", help="compare two real API servers")
    options = parser.parse_args()
    selected = [each for each in all_scenarios() if options.only in each.name or options.only == each.area]
    other = servers.second_kubeconfig if options.twice else servers.embedded_kubeconfig
    with servers.real_kubeconfig() as left, other() as right:
        both = Target.from_kubeconfig("real", left), Target.from_kubeconfig("ours", right)
        print((replay_all(*both, options.only) if options.replay else run_all(*both, selected)).summary())


if __name__ == "__main__":
    main()
