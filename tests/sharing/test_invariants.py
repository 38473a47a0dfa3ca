"""Invariants of the decision, on random clusters."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import random

from hypothesis import given
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples
from tests.sharing import snapshots
from tests.sharing.snapshots import GPU, NOW, applied, random_snapshot

from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import allocate, demands, scale_up_limits
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, SharingDecision
from traincrew.sharing.free_capacity import FreeCapacity
from traincrew.sharing.policy import SharingPolicy

SEEDS = st.integers(0, 10**9)


def members(result: SharingDecision) -> dict[str, list[int]]:
    return {uid: sorted(each.members) for uid, each in result.jobs.items()}


def counts(result: SharingDecision) -> dict[str, int]:
    return {uid: len(each.members) for uid, each in result.jobs.items()}


def capacity(snapshot: ClusterSnapshot, without: set[str] = frozenset()) -> FreeCapacity:  # type: ignore[assignment]
    return FreeCapacity(
        dataclasses.replace(snapshot, pods=tuple(pod for pod in snapshot.pods if pod.uid not in without)), snapshot.nodes
    )


def removed_pods(snapshot: ClusterSnapshot, result: SharingDecision) -> dict[str, PodInfo]:
    return {
        member.pod.uid: member.pod
        for job in snapshot.jobs
        for member in job.members
        if member.index not in result.jobs[job.uid].members and member.pod is not None
    }


@given(SEEDS)
@max_examples(150)
def test_a_second_decision_about_the_same_state_is_the_same(seed: int) -> None:
    snapshot = random_snapshot(seed)
    first = allocate(snapshot, NOW)
    again = allocate(dataclasses.replace(snapshot, history=first.history), NOW)
    assert members(again) == members(first)


@given(SEEDS)
@max_examples(100)
def test_the_order_of_the_input_does_not_matter(seed: int) -> None:
    snapshot, chance = random_snapshot(seed), random.Random(seed)
    shuffled = {name: list(getattr(snapshot, name)) for name in ("nodes", "pods", "jobs")}
    for entries in shuffled.values():
        chance.shuffle(entries)
    other = dataclasses.replace(snapshot, **{name: tuple(entries) for name, entries in shuffled.items()})  # type: ignore[arg-type]
    assert members(allocate(other, NOW)) == members(allocate(snapshot, NOW))


@given(SEEDS)
@max_examples(150)
def test_the_minimum_is_never_taken_and_the_maximum_never_exceeded(seed: int) -> None:
    snapshot = random_snapshot(seed)
    result = allocate(snapshot, NOW)
    for job in snapshot.jobs:
        count = counts(result)[job.uid]
        assert count >= min(job.min_replicas, len(job.members))
        assert count <= job.max_replicas


@given(SEEDS)
@max_examples(150)
def test_new_workers_fit_beside_all_pods_and_all_demand_that_fits(seed: int) -> None:
    snapshot = random_snapshot(seed)
    result = allocate(snapshot, NOW)
    left = capacity(snapshot)
    for demand in demands.find(snapshot):
        left.place_all(demand.pods)
    for job in snapshot.jobs:
        for index, node in result.jobs[job.uid].node_hints.items():
            pod = snapshots.worker(job.uid, index, None, surplus=True)
            assert left.place_on(pod, node) is not None


def with_late_pods(snapshot: ClusterSnapshot, seed: int, priority: int | None = None) -> ClusterSnapshot:
    """The same with pods of one owner that wait."""
    chance = random.Random(seed)
    priority = chance.choice([-5, 0, 9]) if priority is None else priority
    waiting = snapshots.pending_pods("late", chance.randint(1, 2), chance.randint(1, 4), priority=priority)
    return dataclasses.replace(snapshot, pods=(*snapshot.pods, *waiting))


@given(SEEDS)
@max_examples(150)
def test_demand_is_satisfied_in_one_step_if_removals_can_satisfy_it(seed: int) -> None:
    snapshot = random_snapshot(seed, demands=1)
    result = allocate(snapshot, NOW)
    (demand,) = demands.find(snapshot)
    gone = capacity(snapshot, set(removed_pods(snapshot, result)))
    if len(demand.pods) == 1 and _can_be_satisfied(snapshot, demand):
        assert gone.place_all(demand.pods) is not None
    elif capacity(snapshot).place_all(demand.pods) is None and gone.place_all(demand.pods) is None:
        assert not removed_pods(snapshot, result)


@given(SEEDS)
@max_examples(150)
def test_a_gang_is_satisfied_in_one_step_if_removals_can_satisfy_it(seed: int) -> None:
    """Of jobs that keep one worker. Where a minimum leaves a choice among workers of several nodes, not all are tried."""
    plain = random_snapshot(seed, demands=0)
    kept = [each.protected_worker or "first" for each in plain.jobs]
    pairs = zip(plain.jobs, kept, strict=True)
    jobs = tuple(dataclasses.replace(each, min_replicas=1, protected_worker=worker, priority=0) for each, worker in pairs)
    snapshot = with_late_pods(dataclasses.replace(plain, jobs=jobs), seed, priority=0)
    result = allocate(snapshot, NOW)
    (demand,) = demands.find(snapshot)
    gone = capacity(snapshot, set(removed_pods(snapshot, result)))
    assert (gone.place_all(demand.pods) is not None) == _can_be_satisfied(snapshot, demand)


def _can_be_satisfied(snapshot: ClusterSnapshot, demand: demands.Demand) -> bool:
    """By trying all sets of workers that may be removed."""
    removable = []
    for job in snapshot.jobs:
        floor = job.min_replicas if job.priority <= demand.priority else job.wanted
        protected = job.protected(frozenset(node.name for node in snapshot.nodes))
        free = [each.pod for each in job.members if each.index not in protected and each.pod is not None]
        removable.append([set(some) for count in range(_spare(job, floor) + 1) for some in _uid_sets(free, count)])
    return any(
        capacity(snapshot, set().union(*combination)).place_all(demand.pods) for combination in itertools.product(*removable)
    )


def _spare(job: ElasticJob, floor: int) -> int:
    return max(len(job.members) - floor, 0)


def _uid_sets(pods: list[PodInfo], count: int) -> itertools.combinations[str]:
    return itertools.combinations([pod.uid for pod in pods], count)  # type: ignore[return-value]


@given(SEEDS)
@max_examples(150)
def test_no_removal_is_superfluous(seed: int) -> None:
    snapshot = random_snapshot(seed, demands=1)
    result = allocate(snapshot, NOW)
    (demand,) = demands.find(snapshot)
    left = removed_pods(snapshot, result)
    for uid in left:
        assert capacity(snapshot, set(left) - {uid}).place_all(demand.pods) is None


@given(SEEDS)
@max_examples(100)
def test_more_idle_capacity_never_scales_a_job_down(seed: int) -> None:
    snapshot = random_snapshot(seed)
    larger = dataclasses.replace(snapshot, nodes=(*snapshot.nodes, snapshots.gpu_node("spare", 8)))
    before, after = counts(allocate(snapshot, NOW)), counts(allocate(larger, NOW))
    assert all(after[uid] >= before[uid] for uid in before)


@given(SEEDS)
@max_examples(100)
def test_more_demand_never_scales_a_job_up(seed: int) -> None:
    snapshot = random_snapshot(seed, demands=0)
    more = with_late_pods(snapshot, seed)
    before, after = allocate(snapshot, NOW), allocate(more, NOW)
    assert all(counts(after)[uid] <= count for uid, count in counts(before).items())


@given(SEEDS)
@max_examples(100)
def test_protected_workers_are_not_removed(seed: int) -> None:
    snapshot = random_snapshot(seed)
    result = allocate(snapshot, NOW)
    nodes = frozenset(node.name for node in snapshot.nodes)
    for job in snapshot.jobs:
        present = {each.index for each in job.members}
        assert job.protected(nodes) & present <= set(result.jobs[job.uid].members)


@given(SEEDS)
@max_examples(100)
def test_a_job_with_fewer_workers_than_its_maximum_says_why(seed: int) -> None:
    snapshot = random_snapshot(seed)
    result = allocate(snapshot, NOW)
    for job in snapshot.jobs:
        given_share = result.jobs[job.uid]
        assert given_share.reason or len(given_share.members) > len(job.members)


@given(SEEDS)
@max_examples(60)
def test_in_a_cluster_that_does_not_change_the_changes_end(seed: int) -> None:
    snapshot, now = random_snapshot(seed, demands=0), NOW
    seen = []
    for _ in range(60):
        result = allocate(snapshot, now)
        seen.append(members(result))
        snapshot, now = applied(snapshot, result), now + dt.timedelta(minutes=2)
    assert all(each == seen[-1] for each in seen[-20:])


@given(SEEDS)
@max_examples(40)
def test_scaling_up_costs_a_job_at_most_its_budget(seed: int) -> None:
    """Pending pods come and go at random: scaling up is paid from credit whatever happens."""
    chance, now = random.Random(seed), NOW
    snapshot = dataclasses.replace(random_snapshot(seed, demands=0), policy=SharingPolicy())
    spent = {job.uid: 0.0 for job in snapshot.jobs}
    for _ in range(120):
        wave = tuple(snapshots.pending_pods("wave", 1, chance.randint(1, 3))) if chance.random() < 0.4 else ()
        snapshot = dataclasses.replace(snapshot, pods=(*snapshot.pods, *wave))
        result = allocate(snapshot, now)
        for job in snapshot.jobs:
            if set(result.jobs[job.uid].node_hints):
                spent[job.uid] += scale_up_limits.scale_up_cost(job.cost)
        snapshot = applied(snapshot, result)
        snapshot = dataclasses.replace(snapshot, pods=tuple(pod for pod in snapshot.pods if pod not in wave))
        now += dt.timedelta(seconds=chance.choice([1, 5, 30, 300]))
    elapsed = (now - NOW).total_seconds()
    for job in snapshot.jobs:
        assert spent[job.uid] <= snapshot.policy.resize_budget * elapsed + scale_up_limits.scale_up_cost(job.cost) + 1e-6


def test_the_resource_of_the_random_clusters_is_a_device() -> None:
    assert any(pod.requests.get(GPU) for pod in random_snapshot(1).pods)
