"""Plays every scenario on both servers and tells where they differ.

    python -m tests.differential.run [--only TEXT] [--replay] [--twice]

`--twice` plays against two real API servers: there must be no difference, or the comparison itself is at fault.
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

from tests.differential import sides
from tests.differential.accepted import ACCEPTED, Accepted
from tests.differential.catalogue import Scenario, everything
from tests.differential.compare import ABSENT, Comparison, Difference
from tests.differential.play import Play, Step
from tests.differential.recording import Entry
from tests.differential.replay import Replay, recordings
from tests.differential.target import Target

AT_ONCE = 4


@dataclasses.dataclass(frozen=True)
class Verdict:
    scenario: Scenario
    requests: int
    differences: tuple[Difference, ...]


@dataclasses.dataclass(frozen=True)
class Report:
    verdicts: tuple[Verdict, ...]

    @property
    def requests(self) -> int:
        return sum(each.requests for each in self.verdicts)

    @property
    def differences(self) -> list[Difference]:
        return [found for each in self.verdicts for found in each.differences]

    @functools.cached_property
    def open(self) -> list[Difference]:
        """Those that nobody has accepted."""
        return [found for found in self.differences if not any(each.covers(found) for each in ACCEPTED)]

    @property
    def stale(self) -> list[Accepted]:
        return [each for each in ACCEPTED if not any(each.covers(found) for found in self.differences)]

    def tell(self) -> str:
        areas = {each.scenario.name: each.scenario.area for each in self.verdicts}
        counted = collections.Counter(areas[found.case] for found in self.open)
        lines = [str(found) for found in self.open]
        lines += [f"{count:5} open in {area}" for area, count in counted.most_common()]
        told = f"{self.requests} requests in {len(self.verdicts)} scenarios, {len(self.differences)} differences"
        return "\n".join([*lines, f"{told}, {len(self.differences) - len(self.open)} of them accepted"])


def play_all(real: Target, ours: Target, wanted: Sequence[Scenario]) -> Report:
    run = uuid.uuid4().hex[:5]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return Report(tuple(pool.map(lambda scenario: judge(scenario, real, ours, run), wanted)))


def judge(scenario: Scenario, real: Target, ours: Target, run: str) -> Verdict:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        played = list(pool.map(lambda target: _played(scenario, target, run), (real, ours)))
    return Verdict(scenario, len(played[0]), tuple(_compared(scenario.name, *played)))


def replay_all(real: Target, ours: Target, wanted: str = "") -> Report:
    """What real clients have sent, one recording after the other."""
    return Report(tuple(_replayed(name, entries, (real, ours)) for name, entries in recordings() if wanted in name))


def _replayed(name: str, entries: list[Entry], targets: tuple[Target, Target]) -> Verdict:
    run = uuid.uuid4().hex[:5]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        played = list(pool.map(lambda target: Replay(target, name, run).play(entries), targets))
    scenario = Scenario("recordings", name, lambda play: None, False)
    return Verdict(scenario, len(played[0]), tuple(_compared(name, *played)))


def _played(scenario: Scenario, target: Target, run: str) -> list[Step]:
    play = Play(target, scenario.name, run)
    with contextlib.closing(play), _stage(scenario, play):
        try:
            scenario.act(play)
        except Exception:  # what a scenario stumbles over on one server alone is a difference, too
            play.steps.append(Step("the scenario itself", traceback.format_exc(limit=-1)))
    return play.steps


@contextlib.contextmanager
def _stage(scenario: Scenario, play: Play) -> Iterator[None]:
    """A namespace with what controllers put into it, so that nothing appears in the middle of a scenario."""
    if not scenario.namespaced:
        yield
        return
    namespace = play.path("namespaces", play.namespace)
    metadata = {"name": play.namespace, "labels": {"scenario": play.namespace}}
    play.prepare("POST", play.path("namespaces"), {"metadata": metadata})
    play.settle(play.path("serviceaccounts", "default"))
    play.settle(play.path("configmaps", "kube-root-ca.crt"))
    yield
    play.speak_as_administrator()
    play.prepare("DELETE", namespace)


def _compared(case: str, real: list[Step], ours: list[Step]) -> Iterator[Difference]:
    comparison = Comparison()
    for one, other in zip(real, ours, strict=False):
        for path, left, right in comparison.answers(one.seen, other.seen):
            yield Difference(case, one.request, path, left, right)
    if len(real) != len(ours):
        yield Difference(case, "all", "steps", str(len(real)), str(len(ours)) if ours else ABSENT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="scenarios or areas whose name contains this")
    parser.add_argument("--replay", action="store_true", help="what real clients have sent, instead of the scenarios")
    parser.add_argument("--twice", action="store_true", help="two real API servers")
    given = parser.parse_args()
    wanted = [each for each in everything() if given.only in each.name or given.only == each.area]
    other = sides.second_kubeconfig if given.twice else sides.embedded_kubeconfig
    with sides.real_kubeconfig() as left, other() as right:
        both = Target.from_kubeconfig("real", left), Target.from_kubeconfig("ours", right)
        print((replay_all(*both, given.only) if given.replay else play_all(*both, wanted)).tell())


if __name__ == "__main__":
    main()
