"""Disruption budgets: what they count, and that evictions keep to it."""

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
    ("spec", "wanted"),
    [
        ({"minAvailable": 2}, (5, 2)),
        ({"minAvailable": "50%"}, (7, 4)),
        ({"maxUnavailable": 1}, (7, 6)),
        ({"maxUnavailable": "30%"}, (7, 4)),
        ({"maxUnavailable": 9}, (7, 0)),
        ({}, (0, 0)),
    ],
)
def test_numbers_are_of_the_pods_there_are_and_shares_of_those_there_should_be(spec: Object, wanted: tuple[int, int]) -> None:
    assert decisions.expected_pods(spec, 5, 7) == wanted


@hypothesis.given(st.lists(st.booleans(), max_size=6), st.integers(0, 6), st.sets(st.integers(0, 5)))
def test_what_is_allowed_never_leaves_fewer_healthy_ones_than_desired(ready: list[bool], least: int, awaited: set[int]) -> None:
    pods = [pod(str(number), each) for number, each in enumerate(ready)]
    granted = {str(number): "2030-01-01T11:59:30Z" for number in awaited}
    status = decisions.budget_status(
        budget({"disruptedPods": granted}), pods, decisions.ExpectedPods(len(pods), least), NOW
    ).status
    healthy = sum(each for number, each in enumerate(ready) if number not in awaited)
    assert status["currentHealthy"] == healthy
    assert 0 <= status["disruptionsAllowed"] <= max(healthy - least, 0)
    assert status["conditions"][0]["status"] == ("True" if status["disruptionsAllowed"] else "False")


def test_a_pod_that_was_let_go_and_stays_counts_again_after_two_minutes() -> None:
    found = budget({"disruptedPods": {"a": "2030-01-01T11:57:00Z", "b": "2030-01-01T11:59:00Z", "gone": "2030-01-01T11:59:00Z"}})
    verdict = decisions.budget_status(found, [pod("a"), pod("b")], decisions.ExpectedPods(2, 0), NOW)
    assert [each.metadata.name for each in verdict.overdue] == ["a"]
    assert verdict.status["disruptedPods"] == {"b": "2030-01-01T11:59:00Z"}
    assert verdict.again == NOW + dt.timedelta(minutes=1)


def test_the_time_of_a_condition_is_that_of_its_last_turn() -> None:
    first = decisions.budget_status(budget(), [pod("a")], decisions.ExpectedPods(1, 0), NOW).status
    later = decisions.budget_status(budget(first), [pod("a")], decisions.ExpectedPods(1, 0), NOW + dt.timedelta(hours=1)).status
    assert later == first
    turned = decisions.budget_status(budget(first), [pod("a")], decisions.ExpectedPods(1, 1), NOW + dt.timedelta(hours=1)).status
    assert turned["conditions"][0] == {
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "", "observedGeneration": 3,
        "lastTransitionTime": "2030-01-01T13:00:00Z",
    }  # fmt: skip


async def _running(found: Cluster, name: str, **meta: Any) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    await found.create(PODS, {"metadata": {"name": name, "labels": {"app": "x"}, **meta}, "spec": spec})
    await found.patch(PODS, name, {"status": READY}, "status")


async def _evicted(found: Cluster, name: str) -> bool:
    body = msgspec.json.encode({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
    try:
        await found.client.post(PODS, NAMESPACE, name, "eviction", body)
    except errors.TooManyRequests:
        return False
    return True


async def _allowed(found: Cluster) -> int:
    status: Object = (await found.get(BUDGETS, "b"))["status"]
    return int(status["disruptionsAllowed"]) if status.get("observedGeneration") else -1


async def test_of_evictions_at_once_as_many_succeed_as_the_budget_allows(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as found, running_controllers(found):
        for name in "abcde":
            await _running(found, name)
        await found.create(
            BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "x"}}}}
        )
        await eventually(lambda: _allowed(found), lambda allowed: allowed == 2)
        assert sorted(await asyncio.gather(*(_evicted(found, name) for name in "abcde"))) == [False, False, False, True, True]
        assert await eventually(lambda: _allowed(found), lambda allowed: allowed == 0) == 0


async def test_a_share_is_of_what_the_owner_is_to_have(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as found, running_controllers(found):
        template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 4, "selector": {"matchLabels": {"app": "x"}}, "template": template}
        owner = (await found.create(REPLICA_SETS, {"metadata": {"name": "r"}, "spec": spec}))["metadata"]
        by = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": owner["uid"], "controller": True}
        for name in "abc":
            await _running(found, name, ownerReferences=[by])
        chosen = {"selector": {"matchLabels": {"app": "x"}}}
        await found.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"maxUnavailable": "50%", **chosen}})
        assert await eventually(lambda: _allowed(found), lambda allowed: allowed > 0) == 1
        status = (await found.get(BUDGETS, "b"))["status"]
        assert (status["expectedPods"], status["desiredHealthy"], status["currentHealthy"]) == (4, 2, 3)


async def test_a_budget_whose_share_cannot_be_known_lets_nothing_go_and_says_why(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as found, running_controllers(found):
        by = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "no-such-job", "controller": True}
        await _running(found, "a", ownerReferences=[by], finalizers=["example.com/stays"])
        chosen = {"selector": {"matchLabels": {"app": "x"}}}
        await found.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, **chosen}})
        found_conditions = await eventually(lambda: found.get(BUDGETS, "b"), lambda each: each["status"].get("conditions"))
        condition = found_conditions["status"]["conditions"][0]
        assert (condition["status"], condition["reason"]) == ("False", "SyncFailed")
        assert condition["message"] == "jobs.batch does not implement the scale subresource"
        await eventually(lambda: found.event_reasons("b"), lambda message: "CalculateExpectedPodCountFailed" in message)
