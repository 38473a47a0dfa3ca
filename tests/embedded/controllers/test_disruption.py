"""Disruption budgets: their status, and evictions within their limits."""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st
from tests.embedded.controllers.in_process_cluster import NAMESPACE, Cluster, cluster, eventually, running_controllers

from traincrew import errors
from traincrew.embedded.controllers.disruption import decisions
from traincrew.embedded.controllers.disruption.controller import BUDGETS
from traincrew.embedded.controllers.pods import Pod
from traincrew.model.resources import PODS, Resource

Object = dict[str, Any]
NOW = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def pod(name: str, ready: bool = True) -> Pod:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return msgspec.convert(
        {"metadata": {"name": name, "uid": name}, "status": {"phase": "Running", "conditions": conditions}}, Pod
    )


def budget(status: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "b", "namespace": "n", "generation": 3}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (5, 2)),
        ({"minAvailable": "50%"}, (7, 4)),
        ({"maxUnavailable": 1}, (7, 6)),
        ({"maxUnavailable": "30%"}, (7, 4)),
        ({"maxUnavailable": 9}, (7, 0)),
        ({}, (0, 0)),
    ],
)
def test_numbers_refer_to_existing_pods_and_percentages_to_the_scale(spec: Object, expected: tuple[int, int]) -> None:
    assert decisions.expected_pods(spec, 5, 7) == expected


@hypothesis.given(st.lists(st.booleans(), max_size=6), st.integers(0, 6), st.sets(st.integers(0, 5)))
def test_allowed_disruptions_leave_at_least_the_desired_healthy_pods(ready: list[bool], least: int, awaited: set[int]) -> None:
    pods = [pod(str(number), each) for number, each in enumerate(ready)]
    granted = {str(number): "2030-01-01T11:59:30Z" for number in awaited}
    status = decisions.budget_status(
        budget({"disruptedPods": granted}), pods, decisions.ExpectedPods(len(pods), least), NOW
    ).status
    healthy = sum(each for number, each in enumerate(ready) if number not in awaited)
    assert status["currentHealthy"] == healthy
    assert 0 <= status["disruptionsAllowed"] <= max(healthy - least, 0)
    assert status["conditions"][0]["status"] == ("True" if status["disruptionsAllowed"] else "False")


def test_an_evicted_pod_that_still_exists_is_counted_again_after_two_minutes() -> None:
    evicting = budget(
        {"disruptedPods": {"a": "2030-01-01T11:57:00Z", "b": "2030-01-01T11:59:00Z", "gone": "2030-01-01T11:59:00Z"}}
    )
    result = decisions.budget_status(evicting, [pod("a"), pod("b")], decisions.ExpectedPods(2, 0), NOW)
    assert [each.metadata.name for each in result.overdue] == ["a"]
    assert result.status["disruptedPods"] == {"b": "2030-01-01T11:59:00Z"}
    assert result.again == NOW + dt.timedelta(minutes=1)


def test_the_time_of_a_condition_is_that_of_its_last_transition() -> None:
    first = decisions.budget_status(budget(), [pod("a")], decisions.ExpectedPods(1, 0), NOW).status
    later = decisions.budget_status(budget(first), [pod("a")], decisions.ExpectedPods(1, 0), NOW + dt.timedelta(hours=1)).status
    assert later == first
    changed = decisions.budget_status(budget(first), [pod("a")], decisions.ExpectedPods(1, 1), NOW + dt.timedelta(hours=1)).status
    assert changed["conditions"][0] == {
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "", "observedGeneration": 3,
        "lastTransitionTime": "2030-01-01T13:00:00Z",
    }  # fmt: skip


async def _create_running(running: Cluster, name: str, **meta: Any) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    await running.create(PODS, {"metadata": {"name": name, "labels": {"app": "x"}, **meta}, "spec": spec})
    await running.patch(PODS, name, {"status": READY}, "status")


async def _evict(running: Cluster, name: str) -> bool:
    body = msgspec.json.encode({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
    try:
        await running.client.post(PODS, NAMESPACE, name, "eviction", body)
    except errors.TooManyRequests:
        return False
    return True


async def _allowed(running: Cluster) -> int:
    status: Object = (await running.get(BUDGETS, "b"))["status"]
    return int(status["disruptionsAllowed"]) if status.get("observedGeneration") else -1


async def test_concurrent_evictions_succeed_within_the_budget(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running_controllers(running):
        for name in "abcde":
            await _create_running(running, name)
        await running.create(
            BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "x"}}}}
        )
        await eventually(lambda: _allowed(running), lambda allowed: allowed == 2)
        assert sorted(await asyncio.gather(*(_evict(running, name) for name in "abcde"))) == [False, False, False, True, True]
        assert await eventually(lambda: _allowed(running), lambda allowed: allowed == 0) == 0


async def test_a_percentage_refers_to_the_replicas_of_the_owner(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running_controllers(running):
        template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 4, "selector": {"matchLabels": {"app": "x"}}, "template": template}
        owner = (await running.create(REPLICA_SETS, {"metadata": {"name": "r"}, "spec": spec}))["metadata"]
        by = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": owner["uid"], "controller": True}
        for name in "abc":
            await _create_running(running, name, ownerReferences=[by])
        chosen = {"selector": {"matchLabels": {"app": "x"}}}
        await running.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"maxUnavailable": "50%", **chosen}})
        assert await eventually(lambda: _allowed(running), lambda allowed: allowed > 0) == 1
        status = (await running.get(BUDGETS, "b"))["status"]
        assert (status["expectedPods"], status["desiredHealthy"], status["currentHealthy"]) == (4, 2, 3)


async def test_a_budget_with_an_unknown_scale_allows_no_disruption(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running_controllers(running):
        by = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "no-such-job", "controller": True}
        await _create_running(running, "a", ownerReferences=[by], finalizers=["example.com/stays"])
        chosen = {"selector": {"matchLabels": {"app": "x"}}}
        await running.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, **chosen}})
        stored = await eventually(lambda: running.get(BUDGETS, "b"), lambda each: each["status"].get("conditions"))
        condition = stored["status"]["conditions"][0]
        assert (condition["status"], condition["reason"]) == ("False", "SyncFailed")
        assert condition["message"] == "jobs.batch does not implement the scale subresource"
        await eventually(lambda: running.event_reasons("b"), lambda reasons: "CalculateExpectedPodCountFailed" in reasons)
