"""A job is scaled up if the change pays. Capacity that stays idle is used in the end."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples
from tests.sharing.snapshots import GPU, NOW, applied, elastic_job, gpu_node, pending_pods, random_snapshot, snapshot, worker

from traincrew.kinds.elasticity import ResizeCost
from traincrew.model.meta import Time
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, DecisionHistory, ElasticJob, Member
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.surplus_lifetimes import EXPECTED, SurplusLifetimes

HOROVOD, TORCHRUN = ResizeCost(10.0, 5.0), ResizeCost(20.0, 20.0, 150.0)
SHORT_LIVES = DecisionHistory(lifetimes=SurplusLifetimes(removed=50.0))
"""Many workers on idle capacity were removed soon after they came: they stay 34 s on average."""


def after(seconds: float) -> Time:
    return NOW + dt.timedelta(seconds=seconds)


def count(state: ClusterSnapshot, uid: str = "e") -> int:
    return len(next(job for job in state.jobs if job.uid == uid).members)


def in_the_end(state: ClusterSnapshot, days: float = 30.0) -> ClusterSnapshot:
    """The cluster after a time in which it is looked at only when a decision asks for it."""
    now = NOW
    while True:
        result = allocate(state, now)
        changed = any(each.node_hints or each.leaving for each in result.jobs.values())
        state = applied(state, result)
        if result.requeue_at is None and not changed:
            return state
        now = max(result.requeue_at or now, now + dt.timedelta(seconds=0 if result.requeue_at else 1))
        assert now < after(days * 86400), "it is asked again and again"


@pytest.mark.parametrize(
    ("workers", "idle", "cost", "history"),
    [
        pytest.param(2, 1, TORCHRUN, DecisionHistory(), id="a default PyTorchJob beside one device"),
        pytest.param(1, 3, TORCHRUN, SHORT_LIVES, id="after many short lives"),
        pytest.param(40, 1, HOROVOD, DecisionHistory(), id="Horovod with forty workers"),
        pytest.param(400, 1, TORCHRUN, SHORT_LIVES, id="a large job"),
    ],
)
def test_a_device_that_stays_idle_is_used(workers: int, idle: int, cost: ResizeCost, history: DecisionHistory) -> None:
    job = elastic_job("e", ["a"] * workers, wanted=workers, max_replicas=workers + idle, cost=cost)
    state = snapshot([gpu_node("a", workers + idle, pods="999")], [], [job], policy=SharingPolicy(), history=history)
    assert count(in_the_end(state)) == workers + idle


def test_a_change_that_would_not_pay_yet_says_until_when() -> None:
    job = elastic_job("e", ["a", "a"], wanted=2, cost=TORCHRUN, max_replicas=3)
    state = snapshot([gpu_node("a", 3)], [], [job], history=SHORT_LIVES)
    first = allocate(state, NOW)
    assert (first.jobs["e"].reason, first.requeue_at) == ("Unprofitable", after(340))
    assert "it costs 340 worker-seconds, and workers on idle capacity stay 34 s" in first.jobs["e"].message
    assert "scales up at 00:05:40 UTC if the capacity stays idle" in first.jobs["e"].message
    waiting = dataclasses.replace(state, history=first.history)
    assert allocate(waiting, after(339)).jobs["e"].reason == "Unprofitable"
    assert len(allocate(waiting, after(340)).jobs["e"].members) == 3


def test_capacity_that_others_use_meanwhile_has_not_been_idle() -> None:
    job = elastic_job("e", ["a", "a"], wanted=2, cost=TORCHRUN, max_replicas=3)
    state = snapshot([gpu_node("a", 3)], [], [job], history=SHORT_LIVES)
    first = allocate(state, NOW)
    used = snapshot([gpu_node("a", 3)], [worker("other", 0, "a")], [job], history=first.history)
    second = allocate(used, after(100))
    again = allocate(dataclasses.replace(state, history=second.history), after(350))
    assert (again.jobs["e"].reason, again.requeue_at) == ("Unprofitable", after(690))


@given(st.integers(0, 10**9))
@max_examples(100)
def test_no_device_stays_idle_for_ever_that_a_job_could_use(seed: int) -> None:
    chance, state = random.Random(seed), random_snapshot(seed, demands=0)
    lifetimes = SurplusLifetimes(removed=chance.choice([0.0, 5.0, 100.0]))
    jobs = tuple(dataclasses.replace(job, cost=chance.choice([HOROVOD, TORCHRUN])) for job in state.jobs)
    state = dataclasses.replace(state, policy=SharingPolicy(), jobs=jobs, history=DecisionHistory(lifetimes=lifetimes))
    state = in_the_end(state)
    idle = {node.name: int(node.status.allocatable[GPU]) for node in state.nodes}
    for pod in state.pods:
        if pod.spec.node_name:
            idle[pod.spec.node_name] -= pod.requests.get(GPU, 0)
    assert max(idle.values()) <= 0 or all(len(job.members) == job.max_replicas for job in state.jobs)


def running(job: ElasticJob, since: Time) -> ElasticJob:
    members = (dataclasses.replace(each, running_since=since) if each.surplus else each for each in job.members)
    return dataclasses.replace(job, members=tuple(members))


def test_workers_that_still_live_raise_the_expectation_and_it_is_forgotten() -> None:
    state = snapshot([gpu_node("a", 2)], [], [running(elastic_job("e", ["a", "a"], max_replicas=2), NOW)])
    for hour in range(13):
        result = allocate(state, after(hour * 3600))
        state = dataclasses.replace(state, history=result.history)
    assert state.history.lifetimes.mean == pytest.approx(EXPECTED + 3600 / 3, rel=0.01)
    alone = dataclasses.replace(state, jobs=(), pods=())
    for hour in range(13, 30):
        alone = dataclasses.replace(alone, history=allocate(alone, after(hour * 3600)).history)
    assert alone.history.lifetimes.mean == pytest.approx(EXPECTED, rel=0.01)


def test_workers_that_leave_for_others_lower_the_expectation() -> None:
    state = snapshot([gpu_node("a", 2)], [], [running(elastic_job("e", ["a", "a"], max_replicas=2), NOW)])
    first = allocate(state, after(10))
    served = dataclasses.replace(state, pods=(*state.pods, *pending_pods("c")), history=first.history)
    assert allocate(served, after(20)).history.lifetimes.mean == pytest.approx((3 * EXPECTED + 20) / 4, rel=0.01)


def test_the_end_of_a_job_and_a_refused_worker_say_nothing_about_lifetimes() -> None:
    job = running(elastic_job("e", ["a", "a"], max_replicas=2), NOW)
    state = snapshot([gpu_node("a", 3)], [], [job])
    seen = allocate(state, after(1))
    ended = dataclasses.replace(state, jobs=(), pods=(), history=seen.history)
    assert allocate(ended, after(2)).history.lifetimes.removed == 0
    refused = dataclasses.replace(worker("f", 1, None, surplus=True), status=pending_pods("x")[0].status)
    other = elastic_job("f", ["a"])
    other = dataclasses.replace(other, members=(*other.members, Member(1, refused, True)))
    assert allocate(snapshot([gpu_node("a", 1)], [], [other]), NOW).history.lifetimes == SurplusLifetimes(until=NOW)
