"""Metrics of sharing follow the decisions."""

from __future__ import annotations

import dataclasses
import datetime as dt

from tests.sharing.snapshots import GPU, NOW, applied, elastic_job, gpu_node, pending_pods, snapshot

from traincrew.operator.metrics import Metrics
from traincrew.operator.sharing_metrics import SharingMetrics
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot

PREFIX = "traincrew_elastic_"


def after(seconds: float) -> dt.datetime:
    return NOW + dt.timedelta(seconds=seconds)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    metrics.text()
    return metrics.registry.get_sample_value(PREFIX + name, labels)


def grown(metrics: SharingMetrics) -> ClusterSnapshot:
    """A job with one worker has taken the other three devices of a node, 5 s after the decision."""
    state = snapshot([gpu_node("a", 4)], jobs=[elastic_job("e", ["a"])])
    result = allocate(state, NOW)
    metrics.decided(state, result, NOW)
    state = applied(state, result)
    result = allocate(state, after(5))
    metrics.decided(state, result, after(5))
    return dataclasses.replace(state, history=result.history)


def test_idle_and_lent_amounts_are_those_of_the_last_decision_and_end_with_sharing() -> None:
    metrics = Metrics()
    sharing = SharingMetrics(metrics)
    grown(sharing)
    assert value(metrics, "lent", resource=GPU, unit="integer") == 3
    assert value(metrics, "idle", resource=GPU, unit="integer") == 0
    assert value(metrics, "idle", resource="cpu", unit="core") == 64
    sharing.ended()
    assert value(metrics, "lent", resource=GPU, unit="integer") is None
    assert value(metrics, "demands") == 0


def test_the_times_to_come_and_to_leave_are_observed() -> None:
    metrics = Metrics()
    sharing = SharingMetrics(metrics)
    state = grown(sharing)
    assert value(metrics, "fill_seconds_count") == 3
    assert value(metrics, "fill_seconds_sum") == 15
    waiting = dataclasses.replace(state, pods=(*state.pods, *pending_pods("other", gpus=1, age=600)))
    result = allocate(waiting, after(60))
    sharing.decided(waiting, result, after(60))
    assert value(metrics, "demands") == 1
    (index,) = result.jobs["e"].leaving
    (job,) = waiting.jobs
    removed = tuple(each for each in job.members if each.index == index)
    leaving = dataclasses.replace(
        job, members=tuple(each for each in job.members if each.index != index), removed_members=removed
    )
    still = dataclasses.replace(waiting, jobs=(leaving,), history=result.history)
    result = allocate(still, after(62))
    sharing.decided(still, result, after(62))
    assert value(metrics, "give_back_seconds_count") == 0, "its pod still exists"
    gone = dataclasses.replace(still, jobs=(dataclasses.replace(leaving, removed_members=()),), history=result.history)
    sharing.decided(gone, allocate(gone, after(64)), after(64))
    assert value(metrics, "give_back_seconds_sum") == 4


def test_a_worker_that_the_scheduler_refuses_is_counted_once() -> None:
    metrics = Metrics()
    sharing = SharingMetrics(metrics)
    job = elastic_job("e", ["a", "a"], max_replicas=2)
    refused = dataclasses.replace(job.members[1], pod=pending_pods("e")[0], running_since=None)
    state = snapshot([gpu_node("a", 1)], jobs=[dataclasses.replace(job, members=(job.members[0], refused))])
    for seconds in (0, 1):
        result = allocate(state, after(seconds))
        sharing.decided(state, result, after(seconds))
    assert value(metrics, "surplus_refused_total") == 1
