"""Laws of the decision, on random clusters."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import random

from hypothesis import given
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples
from tests.sharing import worlds
from tests.sharing.worlds import GPU, NOW, applied, random_scene

from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import budget, claims, share
from traincrew.sharing.room import Room
from traincrew.sharing.scene import ElasticJob, Rules, Scene, Shares

SEEDS = st.integers(0, 10**9)


def members(result: Shares) -> dict[str, list[int]]:
    return {uid: sorted(each.members) for uid, each in result.jobs.items()}


def counts(result: Shares) -> dict[str, int]:
    return {uid: len(each.members) for uid, each in result.jobs.items()}


def room(scene: Scene, without: set[str] = frozenset()) -> Room:  # type: ignore[assignment]
    return Room(dataclasses.replace(scene, pods=tuple(pod for pod in scene.pods if pod.uid not in without)), scene.nodes)


def leavers(scene: Scene, result: Shares) -> dict[str, PodInfo]:
    return {
        member.pod.uid: member.pod
        for job in scene.jobs
        for member in job.members
        if member.index not in result.jobs[job.uid].members and member.pod is not None
    }


@given(SEEDS)
@max_examples(150)
def test_a_second_decision_about_the_same_state_is_the_same(seed: int) -> None:
    scene = random_scene(seed)
    first = share(scene, NOW)
    again = share(dataclasses.replace(scene, memory=first.memory), NOW)
    assert members(again) == members(first)


@given(SEEDS)
@max_examples(100)
def test_the_order_of_the_input_does_not_matter(seed: int) -> None:
    scene, chance = random_scene(seed), random.Random(seed)
    shuffled = {name: list(getattr(scene, name)) for name in ("nodes", "pods", "jobs")}
    for entries in shuffled.values():
        chance.shuffle(entries)
    other = dataclasses.replace(scene, **{name: tuple(entries) for name, entries in shuffled.items()})  # type: ignore[arg-type]
    assert members(share(other, NOW)) == members(share(scene, NOW))


@given(SEEDS)
@max_examples(150)
def test_the_minimum_is_never_taken_and_the_maximum_never_exceeded(seed: int) -> None:
    scene = random_scene(seed)
    result = share(scene, NOW)
    for job in scene.jobs:
        count = counts(result)[job.uid]
        assert count >= min(job.least, len(job.members))
        assert count <= job.most


@given(SEEDS)
@max_examples(150)
def test_new_workers_fit_beside_everything_and_beside_every_claim_that_fits(seed: int) -> None:
    scene = random_scene(seed)
    result = share(scene, NOW)
    left = room(scene)
    for claim in claims.find(scene):
        left.place_all(claim.pods)
    for job in scene.jobs:
        for index, node in result.jobs[job.uid].hints.items():
            pod = worlds.worker(job.uid, index, None, surplus=True)
            assert left.place_on(pod, node) is not None


@given(SEEDS)
@max_examples(150)
def test_a_claim_is_served_in_one_step_if_leaving_can_serve_it(seed: int) -> None:
    scene = random_scene(seed, claims=1)
    result = share(scene, NOW)
    (claim,) = claims.find(scene)
    gone = room(scene, set(leavers(scene, result)))
    if len(claim.pods) == 1 and _can_be_served(scene, claim):
        assert gone.place_all(claim.pods) is not None
    elif room(scene).place_all(claim.pods) is None and gone.place_all(claim.pods) is None:
        assert not leavers(scene, result)


def _can_be_served(scene: Scene, claim: claims.Claim) -> bool:
    """By trying all sets of workers that may leave."""
    removable = []
    for job in scene.jobs:
        floor = job.least if job.priority <= claim.priority else job.wanted
        anchored = job.anchored(frozenset(node.name for node in scene.nodes))
        free = [each.pod for each in job.members if each.index not in anchored and each.pod is not None]
        removable.append([set(some) for count in range(_spare(job, floor) + 1) for some in _uid_sets(free, count)])
    return any(room(scene, set().union(*combination)).place_all(claim.pods) for combination in itertools.product(*removable))


def _spare(job: ElasticJob, floor: int) -> int:
    return max(len(job.members) - floor, 0)


def _uid_sets(pods: list[PodInfo], count: int) -> itertools.combinations[str]:
    return itertools.combinations([pod.uid for pod in pods], count)  # type: ignore[return-value]


@given(SEEDS)
@max_examples(150)
def test_nobody_leaves_whose_staying_would_do(seed: int) -> None:
    scene = random_scene(seed, claims=1)
    result = share(scene, NOW)
    (claim,) = claims.find(scene)
    left = leavers(scene, result)
    for uid in left:
        assert room(scene, set(left) - {uid}).place_all(claim.pods) is None


@given(SEEDS)
@max_examples(100)
def test_more_idle_capacity_never_shrinks_a_job(seed: int) -> None:
    scene = random_scene(seed)
    larger = dataclasses.replace(scene, nodes=(*scene.nodes, worlds.gpu_node("spare", 8)))
    before, after = counts(share(scene, NOW)), counts(share(larger, NOW))
    assert all(after[uid] >= before[uid] for uid in before)


@given(SEEDS)
@max_examples(100)
def test_one_more_claim_never_grows_a_job(seed: int) -> None:
    scene = random_scene(seed, claims=0)
    more = dataclasses.replace(scene, pods=(*scene.pods, *worlds.claim("late", 1, priority=9)))
    before, after = share(scene, NOW), share(more, NOW)
    assert sum(counts(after).values()) <= sum(counts(before).values())


@given(SEEDS)
@max_examples(100)
def test_anchored_workers_stay(seed: int) -> None:
    scene = random_scene(seed)
    result = share(scene, NOW)
    nodes = frozenset(node.name for node in scene.nodes)
    for job in scene.jobs:
        present = {each.index for each in job.members}
        assert job.anchored(nodes) & present <= set(result.jobs[job.uid].members)


@given(SEEDS)
@max_examples(100)
def test_a_job_with_fewer_workers_than_its_maximum_says_why(seed: int) -> None:
    scene = random_scene(seed)
    result = share(scene, NOW)
    for job in scene.jobs:
        given_share = result.jobs[job.uid]
        assert given_share.reason or len(given_share.members) > len(job.members)


@given(SEEDS)
@max_examples(60)
def test_in_a_cluster_that_does_not_change_the_changes_end(seed: int) -> None:
    scene, now = random_scene(seed, claims=0), NOW
    seen = []
    for _ in range(60):
        result = share(scene, now)
        seen.append(members(result))
        scene, now = applied(scene, result), now + dt.timedelta(minutes=2)
    assert all(each == seen[-1] for each in seen[-20:])


@given(SEEDS)
@max_examples(40)
def test_changes_of_its_own_will_cost_a_job_at_most_its_budget(seed: int) -> None:
    """Claims come and go at random: growth is paid from credit whatever happens."""
    chance, now = random.Random(seed), NOW
    scene = dataclasses.replace(random_scene(seed, claims=0), rules=Rules())
    spent = {job.uid: 0.0 for job in scene.jobs}
    for _ in range(120):
        wave = tuple(worlds.claim("wave", 1, chance.randint(1, 3))) if chance.random() < 0.4 else ()
        scene = dataclasses.replace(scene, pods=(*scene.pods, *wave))
        result = share(scene, now)
        for job in scene.jobs:
            if set(result.jobs[job.uid].hints):
                spent[job.uid] += budget.price(job.cost)
        scene = applied(scene, result)
        scene = dataclasses.replace(scene, pods=tuple(pod for pod in scene.pods if pod not in wave))
        now += dt.timedelta(seconds=chance.choice([1, 5, 30, 300]))
    elapsed = (now - NOW).total_seconds()
    for job in scene.jobs:
        assert spent[job.uid] <= scene.rules.budget * elapsed + budget.price(job.cost) + 1e-6


def test_the_resource_of_the_random_clusters_is_a_device() -> None:
    assert any(pod.requests.get(GPU) for pod in random_scene(1).pods)
