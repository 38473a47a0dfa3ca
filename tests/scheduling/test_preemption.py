"""Who must go for whom."""

from __future__ import annotations

from typing import Any

from tests.scheduling.builders import PLUGINS, bound, gang, group, messages, node, pod, run_cycle, victims

from traincrew.scheduling.decisions import Profile

GOING: dict[str, Any] = {
    "phase": "Running",
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}],
}


def high(name: str = "high", cpu: str = "2", **spec: Any) -> Any:
    return pod(name, {"priority": 100, **spec}, wants={"cpu": cpu})


def low(name: str, cpu: str = "1", priority: int = 0, **more: Any) -> Any:
    return pod(name, {"priority": priority}, wants={"cpu": cpu}, on=more.pop("on", "machine"), **more)


def test_the_least_important_go_and_no_more_than_needed() -> None:
    result = run_cycle(low("a"), low("b", priority=5), low("c", priority=1), low("d"), high())
    assert victims(result) == {"a", "d"}
    assert bound(result) == {}
    assert messages(result) == {"high": "0/1 nodes are available: 1 Insufficient cpu."}
    assert result.unschedulable[0].nominated == "machine"


def test_of_equals_the_younger_goes() -> None:
    assert victims(run_cycle(low("old", "2", age=9), low("young", "2", age=1), high())) == {"young"}


def test_nobody_goes_for_an_equal_or_where_it_would_not_help() -> None:
    equal = run_cycle(low("a", "4", priority=100), high())
    assert victims(equal) == set()
    assert messages(equal)["high"].endswith(
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    assert equal.unschedulable[0].nominated == ""
    vain = run_cycle(low("a", "4"), high(cpu="5"))
    assert victims(vain) == set()
    assert messages(vain)["high"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_one_that_may_not_preempt_waits() -> None:
    result = run_cycle(low("a", "4"), high(preemptionPolicy="Never"))
    assert victims(result) == set()
    words = "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    assert messages(result)["high"] == words


def test_while_victims_are_going_nobody_else_goes_and_nobody_takes_the_room() -> None:
    going = low("a", "2", deleting=True, status=GOING)
    nominated = pod("high", {"priority": 100}, wants={"cpu": "4"}, status={"phase": "Pending", "nominatedNodeName": "machine"})
    result = run_cycle(going, nominated, pod("small", wants={"cpu": "1"}))
    assert (bound(result), victims(result)) == ({}, set())
    words = "preemption: not eligible due to a terminating pod on the nominated node."
    assert messages(result)["high"] == f"0/1 nodes are available: 1 Insufficient cpu. {words}"
    assert result.unschedulable[0].nominated is None


def test_what_is_leaving_anyway_is_not_joined_by_others() -> None:
    result = run_cycle(low("leaving", "2", deleting=True), low("stays", "2"), high())
    assert victims(result) == set()


def test_two_preemptors_do_not_count_on_the_same_room() -> None:
    result = run_cycle(low("a", "2"), low("b", "2"), high("one"), high("two"))
    assert victims(result) == {"a", "b"}
    assert {each.nominated for each in result.unschedulable} == {"machine"}


def test_the_node_with_the_least_important_victims_is_cleared() -> None:
    nodes = [node("a"), node("b"), node("c")]
    held = [low("x", "4", 50, on="a"), low("y", "4", 10, on="b"), low("z", "2", 10, on="c"), low("w", "2", 10, on="c")]
    result = run_cycle(*held, high(cpu="3"), nodes=nodes)
    assert victims(result) == {"y"}
    assert result.unschedulable[0].nominated == "b"


def test_a_gang_goes_whole_and_a_single_pod_before_it() -> None:
    others = gang("g", 3, {"cpu": "1"}, on="machine", age=5)
    groups = [group("g", 3, phase="Running")]
    assert victims(run_cycle(*others, low("single", age=1), high(cpu="1"), groups=groups)) == {"single"}
    assert victims(run_cycle(*others, low("single", age=9), high(cpu="2"), groups=groups)) == {"g-0", "g-1", "g-2"}


def test_a_gang_with_more_than_it_needs_loses_the_surplus_only() -> None:
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
    vain = run_cycle(low("a"), low("b", priority=10), *mine, groups=groups)
    assert victims(vain) == set()
    assert bound(vain) == {}


def test_many_preemptions_are_thought_through_in_parts() -> None:
    held = [low(f"low-{index}") for index in range(4)]
    more = [high(f"high-{index}", "1") for index in range(4)]
    first = run_cycle(*held, *more, policy=Profile(max_preemptions=3))
    assert (len(first.preemptions), first.incomplete) == (3, True)
    assert not run_cycle(*held, *more).incomplete


def test_host_ports_and_repelling_pods_can_be_had_by_preemption() -> None:
    port = {"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]}
    assert victims(run_cycle(pod("a", port, on="machine"), pod("b", on="machine"), pod("p", {**port, "priority": 1}))) == {"a"}
    term = {"labelSelector": {"matchLabels": {"app": "w"}}, "topologyKey": "kubernetes.io/hostname"}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}, "priority": 1}
    held = [pod("a", on="machine", labels={"app": "w"}), pod("b", on="machine")]
    assert victims(run_cycle(*held, pod("p", spec))) == {"a"}
