"""What a scheduling cycle costs: terms that are evaluated, between two steps and in total."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scheduling.builders import START, STRICT, bound, messages, node, pod, run_cycle

from traincrew.scheduling.decisions import Decisions, SchedulingContext
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.pod_matches import PodMatcher
from traincrew.scheduling.scheduling_cycle import MAX_SLICE, SchedulingCycle

HARD = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS, RUNNING, PENDING = 500, 40, 20
TERM_SIZE = len('{"labelSelector":{"matchLabels":{"app":"none-0-0"}}}')


def separated(values: list[str]) -> dict[str, Any]:
    terms = [{"labelSelector": {"matchLabels": {"app": value}}, "topologyKey": "kubernetes.io/hostname"} for value in values]
    return {"affinity": {"podAntiAffinity": {HARD: terms}}}


def crowd(spec: Iterator[dict[str, Any]]) -> list[PodInfo]:
    running = [pod(f"r{index}", next(spec), on="machine", labels={"app": f"r{index}"}) for index in range(RUNNING)]
    return [*running, *(pod(f"p{index}", next(spec), labels={"app": f"p{index}"}, age=99 - index) for index in range(PENDING))]


def different() -> Iterator[dict[str, Any]]:
    number = 0
    while True:
        number += 1
        yield separated([f"none-{number}-{index}" for index in range(TERMS)])


def identical() -> Iterator[dict[str, Any]]:
    while True:
        yield separated(["none-0-0"] * TERMS)


def cycle(pods: list[PodInfo], matcher: PodMatcher) -> SchedulingCycle:
    return SchedulingCycle(pods, [node()], SchedulingContext(now=START), STRICT, matcher)


def test_identical_terms_of_pods_are_evaluated_once_for_each_pod() -> None:
    matcher, pods = PodMatcher(), crowd(identical())
    running = cycle(pods, matcher)
    for _ in running.steps():
        pass
    assert len(bound(running.decisions)) == PENDING
    assert matcher.work <= TERM_SIZE * len(pods)


def test_between_two_steps_a_limited_number_of_terms_is_evaluated() -> None:
    matcher, before, largest = PodMatcher(), 0, 0
    for _ in cycle(crowd(different()), matcher).steps():
        before, largest = matcher.work, max(largest, matcher.work - before)
    assert before > 10 * MAX_SLICE
    assert largest < MAX_SLICE + 2 * TERMS * TERM_SIZE


def test_a_cycle_ends_at_its_limit_and_the_next_ones_continue() -> None:
    matcher, pods, rounds = PodMatcher(), crowd(different()), list[Decisions]()
    limit = 3 * TERMS * TERM_SIZE * RUNNING
    while not rounds or rounds[-1].incomplete:
        before, running = matcher.work, cycle(pods, matcher)
        for _ in running.steps(limit):
            pass
        rounds.append(running.decisions)
        nodes = bound(running.decisions)
        pods = [each.with_node(nodes[each.metadata.name]) if each.metadata.name in nodes else each for each in pods]
        assert matcher.work - before < 2 * limit
    assert len(rounds) > PENDING / 4
    assert sum(len(each.bindings) for each in rounds) == PENDING


def test_pods_that_fit_nowhere_do_not_keep_later_ones_from_being_decided() -> None:
    crowded = separated([*(f"none-{index}" for index in range(TERMS)), "busy"])
    busy = [pod(f"busy{index}", on="machine", labels={"app": "busy", "n": str(index)}) for index in range(RUNNING)]
    pending = [pod(f"p{index}", crowded, labels={"n": f"p{index}"}, age=99 - index) for index in range(PENDING)]
    matcher, limit = PodMatcher(), TERMS * TERM_SIZE * RUNNING // 10
    for _ in range(200):
        running = cycle([*busy, *pending, pod("last", labels={"app": "last"})], matcher)
        for _ in running.steps(limit):
            pass
        if not running.decisions.incomplete:
            break
    assert bound(running.decisions) == {"last": "machine"}
    assert len(messages(running.decisions)) == PENDING


def test_results_are_evaluated_again_when_namespaces_or_nodes_change() -> None:
    far = {"namespaceSelector": {"matchLabels": {"kind": "far"}}, "labelSelector": {}, "topologyKey": "zone"}
    pods = [pod("other", on="machine", namespace="far"), pod("p", {"affinity": {"podAntiAffinity": {HARD: [far]}}})]
    matcher = PodMatcher()

    def is_bound(kind: str, **labels: str) -> bool:
        state = SchedulingContext(now=START, namespaces={"far": {"kind": kind}})
        running = SchedulingCycle(pods, [node(labels=labels)], state, STRICT, matcher)
        for _ in running.steps():
            pass
        return bound(running.decisions) == {"p": "machine"}

    assert is_bound("far")
    assert not is_bound("far", zone="a")
    assert is_bound("near", zone="a")
    assert not is_bound("far", zone="a")


def test_thousands_of_host_ports_are_compared_by_number() -> None:
    def ports(first: int, address: str = "") -> dict[str, Any]:
        each = {"hostIP": address} if address else {}
        return {"containers": [{"name": "c", "ports": [{**each, "hostPort": first + index} for index in range(2_000)]}]}

    running = [pod("a", ports(1), on="machine"), pod("b", ports(3_000, "10.0.0.1"), on="machine")]
    for spec, fits in ((ports(6_000), True), (ports(2_000), False), (ports(3_000), False), (ports(3_000, "10.0.0.2"), True)):
        assert bool(bound(run_cycle(*running, pod("p", spec)))) is fits
