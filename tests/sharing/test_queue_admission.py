"""Jobs in a queue of Kueue: workers on idle capacity come after their Workloads are admitted, and leave when they are evicted."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from tests.sharing.snapshots import NOW, applied, elastic_job, gpu_node, snapshot

from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, QueuedWorkload

ADMITTED = QueuedWorkload(admitted=True)


def waiting(message: str = "insufficient quota") -> QueuedWorkload:
    return QueuedWorkload(message=f"Workload e-surplus: {message}")


def queued(workloads: dict[int, QueuedWorkload] | None = None, **more: Any) -> ClusterSnapshot:
    job = dataclasses.replace(elastic_job("e", ["a"], **more), workloads=workloads or {})
    return snapshot([gpu_node("a", 8)], jobs=[job])


def with_workloads(state: ClusterSnapshot, workloads: dict[int, QueuedWorkload]) -> ClusterSnapshot:
    return dataclasses.replace(state, jobs=tuple(dataclasses.replace(each, workloads=workloads) for each in state.jobs))


def test_a_worker_is_requested_before_it_comes() -> None:
    result = allocate(queued(), NOW).jobs["e"]
    assert (set(result.members), set(result.workloads), result.reason) == ({0}, {1, 2}, "Queue")


def test_the_job_says_why_its_queue_does_not_admit_more() -> None:
    result = allocate(queued({1: waiting()}), NOW).jobs["e"]
    assert result.message == "1 of 4 workers: Workload e-surplus: insufficient quota"
    assert result.workloads == {1, 2}


def test_only_admitted_workers_come() -> None:
    result = allocate(queued({1: waiting(), 2: ADMITTED}), NOW).jobs["e"]
    assert (set(result.members), set(result.surplus)) == ({0, 2}, {2})
    assert result.workloads == {1, 2, 3}


def test_waiting_costs_no_credit() -> None:
    first = allocate(queued({1: waiting()}), NOW)
    later = dataclasses.replace(queued({1: ADMITTED, 2: ADMITTED, 3: ADMITTED}), history=first.history)
    assert set(allocate(later, NOW + dt.timedelta(seconds=1)).jobs["e"].members) == {0, 1, 2, 3}


def test_an_evicted_worker_leaves_with_the_message_of_the_queue_and_no_other_does() -> None:
    state = queued({1: ADMITTED, 2: ADMITTED}, max_replicas=3)
    grown = applied(state, allocate(state, NOW))
    evicted = with_workloads(grown, {1: waiting("preempted to accommodate another workload"), 2: ADMITTED})
    result = allocate(evicted, NOW + dt.timedelta(seconds=30)).jobs["e"]
    assert set(result.members) == {0, 2}
    assert "Kueue evicts the worker: Workload e-surplus: preempted" in result.leaving[1].message
    assert result.workloads == {2}, "nothing is requested after an eviction"


def test_a_worker_whose_workload_was_deleted_leaves() -> None:
    state = queued({1: ADMITTED}, max_replicas=2)
    grown = applied(state, allocate(state, NOW))
    result = allocate(with_workloads(grown, {}), NOW + dt.timedelta(seconds=30)).jobs["e"]
    assert set(result.members) == {0}
    assert "its Workload was deleted" in result.leaving[1].message


def test_without_capacity_nothing_is_requested() -> None:
    job = dataclasses.replace(elastic_job("e", ["a"]), workloads={1: ADMITTED})
    result = allocate(snapshot([gpu_node("a", 1)], jobs=[job]), NOW).jobs["e"]
    assert (result.workloads, result.reason) == (frozenset(), "NoRoom")


def test_an_allowed_size_needs_all_its_workers_admitted() -> None:
    part = allocate(queued({1: ADMITTED}, sizes=frozenset((1, 4))), NOW).jobs["e"]
    assert (set(part.members), set(part.workloads), part.reason) == ({0}, {1, 2, 3}, "Queue")
    whole = allocate(queued(dict.fromkeys((1, 2, 3), ADMITTED), sizes=frozenset((1, 4))), NOW).jobs["e"]
    assert set(whole.members) == {0, 1, 2, 3}
