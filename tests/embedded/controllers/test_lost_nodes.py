"""Nodes that fall silent, their pods, and nodes that come back."""

from __future__ import annotations

import asyncio
import pathlib

import pytest
from tests.embedded.controllers.silent_nodes import SilentNodes, condition, silent_nodes
from tests.operator.virtual_time import VirtualTimeLoop, in_virtual_time

GRACE, TOLERATED = 50.0, 300.0
SLACK = 20.0
"""Seconds: lease 10, status 10."""
NOT_READY = "node.kubernetes.io/not-ready"
FOREVER = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}


async def _until_lost(nodes: SilentNodes) -> None:
    await asyncio.sleep(GRACE + SLACK)


@in_virtual_time
async def test_a_silent_node_is_unreachable_and_its_pods_are_not_ready_after_the_grace_period(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("stays", "here")
        await nodes.pod("lost", "there")
        await asyncio.sleep(200.0)
        assert (await nodes.ready("there"), await nodes.taints("there")) == ("True", set())
        await nodes.silence("there")
        await asyncio.sleep(GRACE - SLACK)
        assert await nodes.ready("there") == "True"
        await asyncio.sleep(2 * SLACK)
        assert await nodes.ready("there") == "Unknown"
        assert await nodes.taints("there") == {"unreachable:NoSchedule", "unreachable:NoExecute"}
        assert await nodes.ready_pods() == {"stays"}
        assert await nodes.running_pods() == {"stays", "lost"}
        assert ("NodeNotReady", "Node there status is now: NodeNotReady") in await nodes.events("there")
        assert ("NodeNotReady", "Node is not ready") in await nodes.events("lost")
        assert (await nodes.ready("here"), await nodes.taints("here")) == ("True", set())


@in_virtual_time
async def test_pods_of_a_lost_node_are_deleted_when_their_toleration_ends(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("usual", "there")
        await nodes.pod("short", "there", tolerations=[{**FOREVER, "tolerationSeconds": 60}])
        await nodes.pod("forever", "there", tolerations=[FOREVER])
        await nodes.silence("there")
        await _until_lost(nodes)
        assert await nodes.running_pods() == {"usual", "short", "forever"}
        await asyncio.sleep(60.0)
        assert await nodes.running_pods() == {"usual", "forever"}
        await asyncio.sleep(TOLERATED - 60.0)
        assert await nodes.running_pods() == {"forever"}
        usual = next(each for each in await nodes.pods() if each["metadata"]["name"] == "usual")
        assert condition(usual, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
        assert ("TaintManagerEviction", "Marking for deletion Pod default/usual") in await nodes.events("usual")


@in_virtual_time
async def test_a_node_that_comes_back_in_time_keeps_its_pods(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("p", "there")
        await nodes.silence("there")
        await _until_lost(nodes)
        await nodes.join("there")
        await asyncio.sleep(SLACK)
        assert (await nodes.ready("there"), await nodes.taints("there")) == ("True", set())
        await asyncio.sleep(TOLERATED * 2)
        assert await nodes.running_pods() == {"p"}
        assert ("TaintManagerEviction", "Cancelling deletion of Pod default/p") in await nodes.events("p")


@in_virtual_time
async def test_no_node_is_lost_while_none_is_heard_of(tmp_path: pathlib.Path) -> None:
    """The disk is full or does not respond. The first node that is heard of gives the others the whole grace period."""
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here")
        await asyncio.sleep(7.0)  # the two do not renew their leases at the same time
        await nodes.join("there")
        await nodes.pod("p", "here", tolerations=[{**FOREVER, "tolerationSeconds": 0}])
        for seconds in (GRACE - 5.0, GRACE, GRACE + 5.0, 300.0):
            await nodes.silence("here", "there")
            await asyncio.sleep(seconds)
            assert [await nodes.ready(name) for name in ("here", "there")] == ["True", "True"]
            await nodes.join("there")
            await asyncio.sleep(GRACE - SLACK)
            assert [await nodes.ready(name) for name in ("here", "there")] == ["True", "True"]
            await nodes.join("here")
            await asyncio.sleep(SLACK)
        assert await nodes.ready_pods() == await nodes.running_pods() == {"p"}
        await nodes.silence("here")
        await _until_lost(nodes)
        assert [await nodes.ready(name) for name in ("here", "there")] == ["Unknown", "True"]


@in_virtual_time
async def test_nothing_is_evicted_when_no_node_is_ready(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("p", "there", tolerations=[{**FOREVER, "key": NOT_READY, "tolerationSeconds": 0}])
        await nodes.report_not_ready("here", "there")
        await asyncio.sleep(1.0)
        assert [await nodes.taints(name) for name in ("here", "there")] == [{"not-ready:NoSchedule"}] * 2
        assert await nodes.ready_pods() == set()
        assert await nodes.running_pods() == {"p"}


@in_virtual_time
async def test_a_suspended_machine_loses_no_node(tmp_path: pathlib.Path) -> None:
    """Also if its clock counts the time in which it was suspended."""
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("p", "here", tolerations=[{**FOREVER, "tolerationSeconds": 0}])
        for _ in range(20):
            await asyncio.sleep(7.0)
            nodes.suspended += 36_000.0
            assert [await nodes.ready(name) for name in ("here", "there")] == ["True", "True"]
        assert await nodes.running_pods() == await nodes.ready_pods() == {"p"}


@in_virtual_time
async def test_a_stopped_process_loses_no_node(tmp_path: pathlib.Path) -> None:
    """All its timers are due at once: it looks at the nodes before they have renewed their leases, or after."""
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("p", "here", tolerations=[{**FOREVER, "tolerationSeconds": 0}])
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        for _ in range(20):
            await asyncio.sleep(7.0)
            loop.advance(3600.0)
        await asyncio.sleep(SLACK)
        assert await nodes.events("p") == set()
        assert {reason for reason, _ in await nodes.events("here")} == {"RegisteredNode"}


@in_virtual_time
async def test_a_daemon_that_starts_gives_every_node_the_whole_grace_period(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("p", "there")
        await asyncio.sleep(SLACK)
        await nodes.stop_controllers()
        await nodes.silence("there")
        await asyncio.sleep(400.0)
        nodes.start_controllers()
        await asyncio.sleep(GRACE - SLACK)
        assert await nodes.ready("there") == "True"
        await asyncio.sleep(2 * SLACK)
        assert await nodes.ready("there") == "Unknown"
        assert await nodes.ready_pods() == set()


@in_virtual_time
async def test_a_daemon_that_dies_between_the_node_and_its_pods_marks_them_after_its_start(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.silence("there")
        await _until_lost(nodes)
        await nodes.stop_controllers()
        await nodes.pod("p", "there")
        nodes.start_controllers()
        await asyncio.sleep(1.0)
        assert await nodes.ready_pods() == set()


@in_virtual_time
async def test_the_pods_of_many_lost_nodes_are_evicted_one_node_after_the_other(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        names = [f"n{number}" for number in range(5)]
        await nodes.join(*names)
        await nodes.silence("n1", "n2")
        await asyncio.sleep(GRACE + 5.0)
        tainted = []
        for _ in range(30):
            await asyncio.sleep(1.0)
            tainted.append(await nodes.evicting())
        assert tainted.count(1) == pytest.approx(10, abs=5), "ten seconds pass between the two"
        assert tainted[-1] == 2


@in_virtual_time
async def test_nothing_is_evicted_from_most_nodes_of_a_zone_at_once(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        names = [f"n{number}" for number in range(5)]
        await nodes.join(*names)
        await nodes.silence(*names[1:4])
        await asyncio.sleep(200.0)
        assert [await nodes.ready(name) for name in names] == ["True", "Unknown", "Unknown", "Unknown", "True"]
        assert await nodes.evicting() <= 2


@in_virtual_time
async def test_pods_that_do_not_tolerate_a_taint_of_the_administrator_are_deleted_at_once(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here")
        await nodes.pod("leaves", "here")
        await nodes.pod("stays", "here", tolerations=[{"key": "repair", "operator": "Exists"}])
        await nodes.patch_node("here", {"spec": {"taints": [{"key": "repair", "effect": "NoExecute"}]}})
        await asyncio.sleep(1.0)
        assert await nodes.running_pods() == {"stays"}
        await nodes.pod("late", "here")
        await asyncio.sleep(1.0)
        assert await nodes.running_pods() == {"stays"}


@in_virtual_time
async def test_a_cordoned_node_has_the_taint_until_it_is_uncordoned(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here")
        await nodes.patch_node("here", {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})
        await nodes.patch_node("here", {"spec": {"unschedulable": True}})
        await asyncio.sleep(1.0)
        assert await nodes.taints("here") == {"mine:NoSchedule", "unschedulable:NoSchedule"}
        await nodes.patch_node("here", {"spec": {"unschedulable": None}})
        await asyncio.sleep(1.0)
        assert await nodes.taints("here") == {"mine:NoSchedule"}


@in_virtual_time
async def test_pods_of_a_deleted_node_are_deleted_after_the_quarantine(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("stays", "here")
        await nodes.pod("orphan", "there")
        await asyncio.sleep(100.0)
        await nodes.silence("there")
        await nodes.delete_node("there")
        await asyncio.sleep(30.0)
        assert await nodes.running_pods() == {"stays", "orphan"}
        await asyncio.sleep(40.0)
        assert {each["metadata"]["name"] for each in await nodes.pods()} == {"stays"}


@in_virtual_time
async def test_a_pod_on_a_lost_node_goes_when_the_node_is_out_of_service(tmp_path: pathlib.Path) -> None:
    async with silent_nodes(tmp_path) as nodes:
        await nodes.join("here", "there")
        await nodes.pod("lost", "there")
        await nodes.pod("untouched", "there", tolerations=[{"operator": "Exists"}])
        await nodes.silence("there")
        await _until_lost(nodes)
        await nodes.delete_pod("lost")
        await asyncio.sleep(100.0)
        assert {each["metadata"]["name"] for each in await nodes.pods()} == {"lost", "untouched"}
        taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
        await nodes.patch_node("there", {"spec": {"taints": [taint]}})
        await asyncio.sleep(40.0)
        assert {each["metadata"]["name"] for each in await nodes.pods()} == {"untouched"}
