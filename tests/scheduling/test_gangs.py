"""Gangs are bound as a whole or not at all."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.scheduling.builders import PLUGINS, START, VOLCANO, bound, gang, group, messages, node, pod, run_cycle

from traincrew.scheduling.decisions import Decisions


def phase(result: Decisions) -> dict[str, str]:
    return {each.key.name: each.phase for each in result.groups}


@pytest.mark.parametrize("system", [VOLCANO, PLUGINS])
def test_a_gang_that_fits_is_bound_and_one_that_does_not_uses_nothing(system: str) -> None:
    fits = run_cycle(*gang("g", 4, {"cpu": "1"}, system=system), groups=[group("g", 4, system)])
    assert len(bound(fits)) == 4
    small = pod("small", requests={"cpu": "4"})
    result = run_cycle(*gang("g", 5, {"cpu": "1"}, system=system, age=9), small, groups=[group("g", 5, system, age=9)])
    assert bound(result) == {"small": "machine"}
    common = "1/5 tasks in gang unschedulable: pod group is not ready, 5 Pending, 5 minAvailable; "
    common += "Pending: 4 Schedulable, 1 Unschedulable"
    assert messages(result)["g-0"] == common
    assert messages(result)["g-4"].startswith("0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes")


def test_a_gang_is_bound_with_min_member_pods_and_the_rest_follows() -> None:
    result = run_cycle(*gang("g", 6, {"cpu": "1"}), groups=[group("g", 3)])
    assert sorted(bound(result)) == ["g-0", "g-1", "g-2", "g-3"]
    assert sorted(messages(result)) == ["g-4", "g-5"]


def test_a_replaced_member_of_a_running_gang_is_bound_alone() -> None:
    standing = gang("g", 3, {"cpu": "1"}, on="machine")
    again = gang("g", 1, {"cpu": "1"})
    assert len(bound(run_cycle(*standing, *again, groups=[group("g", 4, phase="Running")]))) == 1


def test_succeeded_members_count_and_failed_ones_do_not() -> None:
    through = gang("g", 2, {"cpu": "1"}, on="machine", status={"phase": "Succeeded"})
    assert len(bound(run_cycle(*through, *gang("g", 1, {"cpu": "1"}), groups=[group("g", 3)]))) == 1
    failed = gang("g", 2, {"cpu": "1"}, on="machine", status={"phase": "Failed"}, system=PLUGINS)
    rest = gang("g", 1, {"cpu": "1"}, system=PLUGINS)
    assert bound(run_cycle(*failed, *rest, groups=[group("g", 3, PLUGINS)])) == {}


def test_a_gang_waits_for_its_last_member_and_for_its_group() -> None:
    result = run_cycle(*gang("g", 2, {}, system=PLUGINS), groups=[group("g", 3, PLUGINS)])
    words = "pre-filter pod g-0 cannot find enough sibling pods, current pods number: 2, minMember of group: 3"
    assert messages(result)["g-0"].startswith(f"0/1 nodes are available: {words}. preemption: ")
    assert messages(run_cycle(*gang("g", 1, {})))["g-0"].startswith('0/1 nodes are available: pod group "team/g" not found.')


def test_volcano_groups_are_enqueued_if_their_resources_are_available() -> None:
    groups = [
        group("first", 1, phase="", min_resources={"memory": "6Gi", "cpu": "1"}, age=9),
        group("second", 1, phase="Pending", min_resources={"memory": "6Gi"}, age=5),
        group("small", 1, phase="Pending", min_resources={"memory": "2Gi"}, age=1),
        group("nothing", 1, phase="Pending", age=1),
    ]
    result = run_cycle(groups=groups)
    assert phase(result) == {"first": "Inqueue", "second": "Pending", "small": "Inqueue", "nothing": "Inqueue"}
    assert next(each.insufficient for each in result.groups if each.key.name == "second") == ("memory",)


def test_pods_of_lower_priority_do_not_keep_a_group_pending() -> None:
    low = pod("low", requests={"memory": "8Gi"}, on="machine")
    groups = [group("g", 1, phase="Pending", min_resources={"memory": "6Gi"}, priority_class="high")]
    assert phase(run_cycle(low, groups=groups)) == {"g": "Pending"}
    assert phase(run_cycle(low, groups=groups, priorities={"high": 10})) == {"g": "Inqueue"}


def test_pods_of_a_pending_group_wait() -> None:
    groups = [group("g", 2, phase="Pending", min_resources={"memory": "60Gi"})]
    result = run_cycle(*gang("g", 2, {"memory": "1Gi"}), groups=groups)
    assert bound(result) == {}
    assert messages(result)["g-1"].startswith("2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending")


def test_phases_follow_the_pods() -> None:
    def of(*phases: str, before: str = "Inqueue", system: str = VOLCANO) -> str:
        pods = [
            each
            for index, at in enumerate(phases)
            for each in gang("g", 1, {}, on="machine", status={"phase": at}, system=system)
        ]
        return phase(run_cycle(*pods, groups=[group("g", 2, system, phase=before)]))["g"]

    assert of("Running", "Pending") == "Running"
    assert of("Running", "Succeeded", before="Running") == "Running"
    assert of("Succeeded", "Succeeded", before="Running") == "Completed"
    assert of("Running", before="Running") == "Inqueue"
    assert of("Running", "Running", system=PLUGINS) == "Running"
    assert of("Running", "Pending", system=PLUGINS) == "Scheduling"
    assert of("Running", system=PLUGINS) == "Pending"
    assert of("Succeeded", "Succeeded", system=PLUGINS) == "Finished"
    assert of("Failed", "Running", system=PLUGINS) == "Failed"


def test_a_gang_that_has_waited_long_is_not_starved_by_small_pods() -> None:
    groups = [group("big", 4, PLUGINS, age=60)]
    big = gang("big", 4, {"cpu": "1"}, system=PLUGINS, age=60)
    holder, small = pod("holder", requests={"cpu": "2"}, on="machine"), pod("small", requests={"cpu": "1"}, age=5)
    other = pod("other", requests={"memory": "1Gi"}, age=5)
    result = run_cycle(*big, holder, small, other, groups=groups)
    assert bound(result) == {"other": "machine"}
    words = "0/1 nodes are available: 1 node(s) were reserved for pod group team/big, which has waited longer."
    assert messages(result)["small"] == words
    early = run_cycle(*big, holder, small, other, groups=groups, now=START - dt.timedelta(seconds=50))
    assert bound(early) == {"small": "machine", "other": "machine"}


def test_pods_of_higher_priority_pass_a_waiting_gang_and_one_that_never_fits_reserves_nothing() -> None:
    groups = [group("big", 4, PLUGINS, age=60)]
    big = gang("big", 4, {"cpu": "1"}, system=PLUGINS, age=60)
    holder = pod("holder", {"priority": 9}, requests={"cpu": "2"}, on="machine")
    high = pod("high", {"priority": 1}, requests={"cpu": "1"})
    assert bound(run_cycle(*big, holder, high, groups=groups)) == {"high": "machine"}
    never = gang("big", 4, {"cpu": "3"}, system=PLUGINS, age=60)
    assert bound(run_cycle(*never, holder, pod("small", requests={"cpu": "1"}), groups=groups)) == {"small": "machine"}


def test_a_gang_is_spread_over_nodes_if_necessary() -> None:
    nodes = [node("a", cpu="2"), node("b", cpu="2")]
    result = run_cycle(*gang("g", 4, {"cpu": "1"}), groups=[group("g", 4)], nodes=nodes)
    assert sorted(bound(result).values()) == ["a", "a", "b", "b"]
