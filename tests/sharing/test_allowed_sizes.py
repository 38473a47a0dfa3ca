"""Jobs that allow only some numbers of workers."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples
from tests.sharing.snapshots import NOW, applied, elastic_job, gpu_node, pending_pods, snapshot
from tests.sharing.test_varied_clusters import varied

from traincrew.model import resources
from traincrew.model.observed import RejectedWrite
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ElasticJob, Member, SharingDecision

SPOT_TERMINATION = {"taints": [{"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}]}


def count(result: SharingDecision, uid: str = "e") -> int:
    return len(result.jobs[uid].members)


def sized(nodes: Iterable[str], sizes: set[int], **more: int) -> ElasticJob:
    return elastic_job("e", nodes, sizes=frozenset(sizes), min_replicas=min(sizes), **more)


def test_requested_workers_come_back_in_allowed_numbers() -> None:
    job = sized("aa", {1, 2, 4}, wanted=4)
    one_free = allocate(snapshot([gpu_node("a", 3)], [], [job]), NOW)
    assert (count(one_free), one_free.jobs["e"].reason) == (2, "NoRoom")
    assert "1 more worker fits, but the job would not have an allowed size" in one_free.jobs["e"].message
    assert count(allocate(snapshot([gpu_node("a", 4)], [], [job]), NOW)) == 4


def test_a_higher_number_in_the_spec_is_requested_in_allowed_numbers() -> None:
    job = sized("aa", {2, 4, 8}, wanted=4, max_replicas=8)
    before = allocate(snapshot([gpu_node("a", 2)], [], [job]), NOW)
    more = snapshot([gpu_node("a", 2)], [], [dataclasses.replace(job, wanted=8)], history=before.history)
    assert count(allocate(more, NOW)) == 8, "2 and 4 more would be 6"


def test_a_worker_that_leaves_a_terminating_node_is_replaced_without_removing_another() -> None:
    nodes = [gpu_node("a", 3), gpu_node("b", 2), gpu_node("spot", 1, spec=SPOT_TERMINATION)]
    given = allocate(snapshot(nodes, [], [sized(["a", "a", "a", "spot"], {2, 4, 8}, wanted=4, max_replicas=8)]), NOW).jobs["e"]
    assert set(given.leaving) == {3}
    assert set(given.members) == {0, 1, 2, 4}


def test_a_worker_that_cannot_be_replaced_before_it_is_gone_leaves_an_allowed_number() -> None:
    nodes = [gpu_node("a", 3), gpu_node("spot", 1, spec=SPOT_TERMINATION)]
    given = allocate(snapshot(nodes, [], [sized(["a", "a", "a", "spot"], {2, 4}, wanted=4, max_replicas=4)]), NOW).jobs["e"]
    assert len(given.members) == 2


def test_a_new_worker_that_gets_no_pod_leaves_an_allowed_number() -> None:
    state = snapshot([gpu_node("a", 4)], [], [sized("aa", {1, 2, 4}, wanted=2)])
    grown = allocate(state, NOW)
    assert count(grown) == 4
    refused = {3: RejectedWrite(resources.PODS, "e-worker-3", "Forbidden", "exceeded quota: small", quota_exceeded=True)}
    job = dataclasses.replace(
        state.jobs[0], members=(*state.jobs[0].members, Member(2, surplus=True), Member(3, surplus=True)), rejections=refused
    )
    assert count(allocate(dataclasses.replace(state, jobs=(job,), history=grown.history), NOW)) == 2


def test_capacity_that_would_not_be_an_allowed_number_for_one_job_is_used_by_another() -> None:
    jobs = [sized("a", {1, 4}), elastic_job("f", "aaa")]
    assert (
        numbers := {uid: len(each.members) for uid, each in allocate(snapshot([gpu_node("a", 5)], [], jobs), NOW).jobs.items()}
    )
    assert numbers == {"e": 1, "f": 4}


def test_workers_are_moved_between_jobs_only_if_both_have_allowed_numbers() -> None:
    jobs = [sized("aaaa", {1, 2, 4}), elastic_job("f", "a")]
    state, now = snapshot([gpu_node("a", 5)], [], jobs), NOW
    for _ in range(20):
        result = allocate(state, now)
        assert count(result) in (1, 2, 4)
        state, now = applied(state, result), now + dt.timedelta(minutes=2)


@given(st.integers(0, 10**9))
@max_examples(300)
def test_whatever_happens_a_job_has_an_allowed_number_of_workers(seed: int) -> None:
    """Demand comes and goes and nodes end. Only a job whose workers may not be removed or requested has another number."""
    chance, state, now = random.Random(seed), varied(seed), NOW
    for _ in range(6):
        result = allocate(state, now)
        for job in (job for job in state.jobs if job.sizes):
            assert count(result, job.uid) in job.sizes or count(result, job.uid) < min(job.sizes)
        state = applied(state, result)
        wave = tuple(pending_pods("wave", chance.randint(1, 2), chance.randint(1, 3))) if chance.random() < 0.5 else ()
        pods = tuple(pod for pod in state.pods if not pod.metadata.name.startswith("wave"))
        state, now = dataclasses.replace(state, pods=(*pods, *wave)), now + dt.timedelta(seconds=chance.choice([1, 30, 400]))
