"""Invariants on random clusters with ending nodes, quotas, allowed sizes, jobs that only yield, and gangs without pods."""

from __future__ import annotations

import dataclasses
import random

from hypothesis import given
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples
from tests.sharing.snapshots import GPU, NOW, gpu_node, pending_pods, random_snapshot

from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, UnadmittedGang

SEEDS = st.integers(0, 10**9)
TAINT = "aws-node-termination-handler/spot-itn"


def varied(seed: int) -> ClusterSnapshot:
    chance, plain = random.Random(seed), random_snapshot(seed)
    ending = chance.choice(plain.nodes) if chance.random() < 0.5 else None
    taints = {"taints": [{"key": TAINT, "effect": "NoSchedule"}]}
    nodes = [
        gpu_node(node.name, int(node.status.allocatable[GPU]), spec=taints) if node is ending else node for node in plain.nodes
    ]
    gangs = []
    if chance.random() < 0.5:
        gangs.append(UnadmittedGang("PyTorchJob team/gang", tuple(pending_pods("gang", 1, chance.randint(1, 4)))))
    return dataclasses.replace(
        plain,
        nodes=tuple(nodes),
        jobs=tuple(_varied_job(job, chance) for job in plain.jobs),
        quotas={"team": {GPU: chance.randint(0, 2)}} if chance.random() < 0.5 else {},
        unadmitted_gangs=tuple(gangs),
    )


def _varied_job(job: ElasticJob, chance: random.Random) -> ElasticJob:
    required = {job.min_replicas, job.wanted}
    optional = [size for size in range(job.min_replicas, job.max_replicas + 1) if chance.random() < 0.6]
    sizes = frozenset((*required, *optional)) if chance.random() < 0.4 else frozenset[int]()
    return dataclasses.replace(job, sizes=sizes, uses_idle_capacity=chance.random() < 0.7)


def ending_nodes(snapshot: ClusterSnapshot) -> set[str]:
    return {node.name for node in snapshot.nodes if node.spec.taints}


def on(pod: PodInfo | None, nodes: set[str]) -> bool:
    return pod is not None and pod.spec.node_name in nodes


@given(SEEDS)
@max_examples(150)
def test_a_second_decision_about_the_same_state_is_the_same(seed: int) -> None:
    snapshot = varied(seed)
    first = allocate(snapshot, NOW)
    again = allocate(dataclasses.replace(snapshot, history=first.history), NOW)
    assert {uid: set(each.members) for uid, each in again.jobs.items()} == {
        uid: set(each.members) for uid, each in first.jobs.items()
    }


@given(SEEDS)
@max_examples(150)
def test_workers_leave_an_ending_node_and_none_comes_there(seed: int) -> None:
    snapshot = varied(seed)
    result, ending = allocate(snapshot, NOW), ending_nodes(snapshot)
    for job in snapshot.jobs:
        allocation = result.jobs[job.uid]
        assert not set(allocation.node_hints.values()) & ending
        staying = [each for each in job.members if each.index in allocation.members and on(each.pod, ending)]
        protected = job.protected(frozenset(node.name for node in snapshot.nodes) - ending)
        assert {each.index for each in staying} <= protected


@given(SEEDS)
@max_examples(150)
def test_growth_stays_within_the_quota(seed: int) -> None:
    snapshot = varied(seed)
    result = allocate(snapshot, NOW)
    new = sum(
        index in result.jobs[job.uid].surplus and index not in {each.index for each in job.members}
        for job in snapshot.jobs
        for index in result.jobs[job.uid].members
    )
    namespaces = {job.worker_template.metadata.namespace for job in snapshot.jobs}
    left = [amounts[GPU] for namespace, amounts in snapshot.quotas.items() if namespace in namespaces]
    assert not left or new <= min(left)


@given(SEEDS)
@max_examples(150)
def test_a_job_that_only_yields_gets_no_worker_on_idle_capacity(seed: int) -> None:
    snapshot = varied(seed)
    result = allocate(snapshot, NOW)
    for job in (job for job in snapshot.jobs if not job.uses_idle_capacity):
        new = set(result.jobs[job.uid].members) - {each.index for each in job.members}
        assert not new & result.jobs[job.uid].surplus
        assert len(result.jobs[job.uid].members) <= max(job.wanted, len(job.members))


@given(SEEDS)
@max_examples(150)
def test_a_job_grows_to_an_allowed_size(seed: int) -> None:
    snapshot = varied(seed)
    result = allocate(snapshot, NOW)
    for job in (job for job in snapshot.jobs if job.sizes):
        allocation = result.jobs[job.uid]
        if set(allocation.surplus) - {each.index for each in job.members}:
            assert len(allocation.members) in job.sizes


@given(SEEDS)
@max_examples(150)
def test_nothing_grows_into_what_a_gang_without_pods_waits_for(seed: int) -> None:
    snapshot = varied(seed)
    result = allocate(snapshot, NOW)
    new = sum(len(each.node_hints) for each in result.jobs.values())
    without = allocate(dataclasses.replace(snapshot, unadmitted_gangs=()), NOW)
    assert new <= sum(len(each.node_hints) for each in without.jobs.values()) or not snapshot.unadmitted_gangs
