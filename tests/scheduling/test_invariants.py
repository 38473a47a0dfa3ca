"""Invariants of every scheduling cycle."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheduling.builders import PLUGINS, VOLCANO, gang, group, node, pod, run_cycle

from traincrew.scheduling import gangs, objects
from traincrew.scheduling.decisions import Decisions, Profile
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.resource_requests import parse

NAMES = ("a", "b", "c")
AMOUNTS = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from(["500m", "1", "3"]), "memory": st.sampled_from(["1Gi", "5Gi"])}
)
PRIORITY = st.sampled_from([0, 0, 5, 10])


@st.composite
def nodes(draw: st.DrawFn) -> list[objects.Node]:
    count = draw(st.integers(0, 3))
    return [
        node(name, cpu=draw(st.sampled_from(["1", "4"])), memory="8Gi", pods=draw(st.sampled_from(["1", "5"])))
        for name in NAMES[:count]
    ]


@st.composite
def singles(draw: st.DrawFn) -> PodInfo:
    more: dict[str, Any] = {"requests": draw(AMOUNTS), "age": draw(st.integers(0, 100)), "deleting": draw(st.integers(0, 9)) == 0}
    if draw(st.booleans()):
        more["on"] = draw(st.sampled_from(NAMES))
    spec: dict[str, Any] = {"priority": draw(PRIORITY)}
    if draw(st.integers(0, 4)) == 0:
        spec["preemptionPolicy"] = "Never"
    return pod("single", spec, **more)


@st.composite
def gang_pods(draw: st.DrawFn) -> tuple[list[PodInfo], Any]:
    system, name = draw(st.sampled_from([VOLCANO, PLUGINS])), draw(st.sampled_from(["g", "h"]))
    size, age, priority = draw(st.integers(1, 5)), draw(st.integers(0, 100)), draw(PRIORITY)
    more: dict[str, Any] = {"age": age, "system": system, "spec": {"priority": priority}}
    bound_count = draw(st.integers(0, size)) if draw(st.booleans()) else 0
    gangs_with_groups = gang(name, size - bound_count, draw(AMOUNTS), **more)
    gangs_with_groups += [
        each for _ in range(bound_count) for each in gang(name, 1, draw(AMOUNTS), on=draw(st.sampled_from(NAMES)), **dict(more))
    ]
    return gangs_with_groups, group(name, draw(st.integers(1, 5)), system, age=age)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[PodInfo], list[objects.Node], list[Any]]:
    gangs_with_groups = draw(st.lists(gang_pods(), max_size=2, unique_by=lambda member: member[1][0]))
    pods = [each for pods, _ in gangs_with_groups for each in pods] + draw(st.lists(singles(), max_size=8))
    return draw(st.permutations(pods)), draw(nodes()), [each for _, each in gangs_with_groups]


def decide(cluster: tuple[list[PodInfo], list[objects.Node], list[Any]], policy: Profile) -> Decisions:
    pods, machines, groups = cluster
    return run_cycle(*pods, nodes=machines, groups=groups, policy=policy)


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_no_node_is_overcommitted(cluster: tuple[list[PodInfo], list[objects.Node], list[Any]]) -> None:
    pods, machines, _ = cluster
    result = decide(cluster, Profile())
    for machine in machines:
        new = [each.pod for each in result.bindings if each.node == machine.name]
        here = [each for each in pods if each.spec.node_name == machine.name and not each.finished]
        capacity = parse(machine.status.allocatable)
        used: Counter[str] = Counter()
        for each in (*new, *here):
            used.update(each.requests)
        asked = {name for each in new for name in each.requests}
        assert all(used[name] <= capacity[name] for name in asked)
        assert not new or len(new) + len(here) <= capacity["pods"]


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_each_pending_pod_is_bound_or_gets_a_reason(
    cluster: tuple[list[PodInfo], list[objects.Node], list[Any]],
) -> None:
    pods, machines, _ = cluster
    result = decide(cluster, Profile())
    decided_uids = Counter([each.pod.uid for each in result.bindings] + [each.pod.uid for each in result.unschedulable])
    assert decided_uids == Counter(each.uid for each in pods if each.pending)
    assert {each.node for each in result.bindings} <= {each.name for each in machines}
    assert all(each.message for each in result.unschedulable)


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_a_gang_is_bound_as_a_whole_or_not_at_all(cluster: tuple[list[PodInfo], list[objects.Node], list[Any]]) -> None:
    pods, _, groups = cluster
    result = decide(cluster, Profile())
    members = gangs.members_by_gang(pods)
    for key, each in dict(groups).items():
        new = sum(gangs.gang_of(binding.pod) == key for binding in result.bindings)
        assert not new or new + len(members[key].bound) >= each.spec.min_member


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_victims_have_a_lower_priority_than_a_preemptor_that_may_preempt(
    cluster: tuple[list[PodInfo], list[objects.Node], list[Any]],
) -> None:
    pods, machines, groups = cluster
    result = decide(cluster, Profile())
    nominated = {each.pod.uid for each in result.unschedulable if each.nominated}
    for victim, by in result.preemptions:
        assert victim.spec.priority < by.spec.priority
        assert by.spec.preemption_policy != "Never"
        assert by.uid in nominated or gangs.gang_of(by) is not None
        assert not victim.terminating
    assert len({each.victim.uid for each in result.preemptions}) == len(result.preemptions)
    left = members_left(pods, result)
    for key, each in dict(groups).items():
        before = len(gangs.members_by_gang(pods)[key].bound)
        # Either the gang keeps its minMember pods, or none of its pods is left on the known nodes.
        if left[key] < min(each.spec.min_member, before):
            known = {machine.name for machine in machines}
            gone = {preemption.victim.uid for preemption in result.preemptions}
            core = [pod for pod in gangs.members_by_gang(pods)[key].bound if pod.spec.node_name in known]
            assert sum(pod.uid in gone for pod in core) >= min(len(core), each.spec.min_member)


def members_left(pods: list[PodInfo], result: Decisions) -> dict[gangs.GangKey, int]:
    gone = {each.victim.uid for each in result.preemptions}
    return {key: sum(pod.uid not in gone for pod in members.bound) for key, members in gangs.members_by_gang(pods).items()}


@settings(max_examples=100, deadline=None)
@given(clusters())
def test_decisions_depend_only_on_the_cluster_state(
    cluster: tuple[list[PodInfo], list[objects.Node], list[Any]],
) -> None:
    one = decide(cluster, Profile())
    other = decide((list(reversed(cluster[0])), list(reversed(cluster[1])), cluster[2]), Profile())
    assert {(each.pod.uid, each.node) for each in one.bindings} == {
        (each.pod.uid, each.node) for each in other.bindings
    } or twins(cluster[0])


def twins(pods: list[PodInfo]) -> bool:
    """Pods that differ only in their UIDs are interchangeable."""
    orders = [gangs.queue_order(each) for each in pods if each.pending]
    return len(set(orders)) < len(orders)


@settings(max_examples=100, deadline=None)
@given(clusters())
def test_a_second_cycle_after_all_decisions_are_executed_binds_nothing(
    cluster: tuple[list[PodInfo], list[objects.Node], list[Any]],
) -> None:
    pods, machines, groups = cluster
    first = decide(cluster, Profile())
    nodes = {each.pod.uid: each.node for each in first.bindings}
    after = [each.with_node(nodes[each.uid]) if each.uid in nodes else each for each in pods]
    assert not decide((after, machines, groups), Profile()).bindings
