"""Preemption: victims and candidates."""

from __future__ import annotations

from typing import Any

from tests.scheduling.builders import PLUGINS, bound, gang, group, messages, node, pod, run_cycle, victims

from traincrew.scheduling.decisions import Profile

GOING: dict[str, Any] = {
    "phase": "Running",
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}],
}


def high(name: str = "high", cpu: str = "2", **spec: Any) -> Any:
    return pod(name, {"priority": 100, **spec}, requests={"cpu": cpu})


def low(name: str, cpu: str = "1", priority: int = 0, **more: Any) -> Any:
    return pod(name, {"priority": priority}, requests={"cpu": cpu}, on=more.pop("on", "machine"), **more)


def test_the_fewest_pods_of_the_lowest_priority_are_victims() -> None:
    result = run_cycle(low("a"), low("b", priority=5), low("c", priority=1), low("d"), high())
    assert victims(result) == {"a", "d"}
    assert bound(result) == {}
    assert messages(result) == {"high": "0/1 nodes are available: 1 Insufficient cpu."}
    assert result.unschedulable[0].nominated == "machine"


def test_of_equal_pods_the_younger_is_the_victim() -> None:
    assert victims(run_cycle(low("old", "2", age=9), low("young", "2", age=1), high())) == {"young"}


def test_there_are_no_victims_of_equal_priority_or_without_effect() -> None:
    equal = run_cycle(low("a", "4", priority=100), high())
    assert victims(equal) == set()
    assert messages(equal)["high"].endswith(
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    assert equal.unschedulable[0].nominated == ""
    unhelpful = run_cycle(low("a", "4"), high(cpu="5"))
    assert victims(unhelpful) == set()
    assert messages(unhelpful)["high"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_a_pod_with_preemption_policy_never_waits() -> None:
    result = run_cycle(low("a", "4"), high(preemptionPolicy="Never"))
    assert victims(result) == set()
    words = "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    assert messages(result)["high"] == words


def test_while_victims_terminate_there_are_no_others_and_their_resources_are_nominated() -> None:
    going = low("a", "2", deleting=True, status=GOING)
    nominated = pod("high", {"priority": 100}, requests={"cpu": "4"}, status={"phase": "Pending", "nominatedNodeName": "machine"})
    result = run_cycle(going, nominated, pod("small", requests={"cpu": "1"}))
    assert (bound(result), victims(result)) == ({}, set())
    words = "preemption: not eligible due to a terminating pod on the nominated node."
    assert messages(result)["high"] == f"0/1 nodes are available: 1 Insufficient cpu. {words}"
    assert result.unschedulable[0].nominated is None


def test_terminating_pods_make_further_victims_unnecessary() -> None:
    result = run_cycle(low("leaving", "2", deleting=True), low("stays", "2"), high())
    assert victims(result) == set()


def test_two_preemptors_do_not_share_the_same_victims() -> None:
    result = run_cycle(low("a", "2"), low("b", "2"), high("one"), high("two"))
    assert victims(result) == {"a", "b"}
    assert {each.nominated for each in result.unschedulable} == {"machine"}


def test_the_candidate_with_the_least_important_victims_is_chosen() -> None:
    nodes = [node("a"), node("b"), node("c")]
    running = [low("x", "4", 50, on="a"), low("y", "4", 10, on="b"), low("z", "2", 10, on="c"), low("w", "2", 10, on="c")]
    result = run_cycle(*running, high(cpu="3"), nodes=nodes)
    assert victims(result) == {"y"}
    assert result.unschedulable[0].nominated == "b"


def test_a_gang_is_preempted_as_a_whole_and_after_a_single_pod() -> None:
    others = gang("g", 3, {"cpu": "1"}, on="machine", age=5)
    groups = [group("g", 3, phase="Running")]
    assert victims(run_cycle(*others, low("single", age=1), high(cpu="1"), groups=groups)) == {"single"}
    assert victims(run_cycle(*others, low("single", age=9), high(cpu="2"), groups=groups)) == {"g-0", "g-1", "g-2"}


def test_a_gang_above_min_member_loses_only_its_surplus() -> None:
    others = [each for index in range(4) for each in gang("g", 1, {"cpu": "1"}, on="machine", age=9 - index)]
    result = run_cycle(*others, high(cpu="2"), groups=[group("g", 2, phase="Running")])
    assert len(result.preemptions) == 2
    assert {each.victim.uid for each in result.preemptions} == {each.uid for each in others[2:]}


def test_a_gang_preempts_for_all_of_its_pods_or_for_none() -> None:
    groups = [group("g", 4, PLUGINS)]
    mine = gang("g", 4, {"cpu": "1"}, system=PLUGINS, spec={"priority": 10})
    enough = run_cycle(low("a"), low("b"), low("c"), *mine, groups=groups)
    assert victims(enough) == {"a", "b", "c"}
    assert {each.nominated for each in enough.unschedulable} == {"machine"}
    unhelpful = run_cycle(low("a"), low("b", priority=10), *mine, groups=groups)
    assert victims(unhelpful) == set()
    assert bound(unhelpful) == {}


def test_many_preemptions_are_considered_in_several_cycles() -> None:
    running = [low(f"low-{index}") for index in range(4)]
    more = [high(f"high-{index}", "1") for index in range(4)]
    first = run_cycle(*running, *more, policy=Profile(max_preemptions=3))
    assert (len(first.preemptions), first.incomplete) == (3, True)
    assert not run_cycle(*running, *more).incomplete


def test_preemption_frees_host_ports_and_resolves_anti_affinity() -> None:
    port = {"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]}
    assert victims(run_cycle(pod("a", port, on="machine"), pod("b", on="machine"), pod("p", {**port, "priority": 1}))) == {"a"}
    term = {"labelSelector": {"matchLabels": {"app": "w"}}, "topologyKey": "kubernetes.io/hostname"}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}, "priority": 1}
    running = [pod("a", on="machine", labels={"app": "w"}), pod("b", on="machine")]
    assert victims(run_cycle(*running, pod("p", spec))) == {"a"}
