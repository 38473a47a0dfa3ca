"""Metrics of sharing: idle and lent capacity, pending demands, and how long workers take to come and to leave."""

from __future__ import annotations

import datetime as dt

from prometheus_client import Gauge

from traincrew.model import naming
from traincrew.model.elastic_allocation import GAVE_BACK, REFUSED
from traincrew.operator.metrics import Metrics
from traincrew.scheduling import resource_requests
from traincrew.sharing import demands
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, SharingDecision

MILLI_CPU = 1000.0
WorkerKey = tuple[str, int]
"""The UID of the job and the index of the worker."""


class SharingMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._snapshot: ClusterSnapshot | None = None
        self._leaving: dict[WorkerKey, dt.datetime] = {}
        """Since when workers leave for a demand."""
        self._starting: dict[WorkerKey, dt.datetime] = {}
        """Since when new workers on idle capacity do not run yet."""
        self._refused: set[WorkerKey] = set()
        metrics.before_scrape.append(self._refresh)

    def decided(self, snapshot: ClusterSnapshot, result: SharingDecision, now: dt.datetime) -> None:
        self._snapshot = snapshot
        self._count_leaving(result, now)
        self._count_starting(snapshot.jobs, result, now)
        refused = _leaving_with(result, REFUSED)
        self._metrics.surplus_refused.inc(len(refused - self._refused))
        self._refused = refused

    def ended(self) -> None:
        """No job lets the operator choose."""
        self._snapshot = None
        self._leaving.clear()
        self._starting.clear()
        self._refused.clear()

    def _count_leaving(self, result: SharingDecision, now: dt.datetime) -> None:
        current = _leaving_with(result, GAVE_BACK)
        for key in [key for key in self._leaving if key not in current]:
            self._metrics.give_back_seconds.observe((now - self._leaving.pop(key)).total_seconds())
        for key in current:
            self._leaving.setdefault(key, now)

    def _count_starting(self, jobs: tuple[ElasticJob, ...], result: SharingDecision, now: dt.datetime) -> None:
        running = {(job.uid, each.index) for job in jobs for each in job.members if each.runs}
        members = {(uid, index) for uid, allocation in result.jobs.items() for index in allocation.members}
        for key in [key for key in self._starting if key in running or key not in members]:
            since = self._starting.pop(key)
            if key in running:
                self._metrics.fill_seconds.observe((now - since).total_seconds())
        for uid, allocation in result.jobs.items():
            for index in allocation.node_hints:
                self._starting.setdefault((uid, index), now)

    def _refresh(self) -> None:
        """Sums over all pods are made when the metrics are read, not with every decision."""
        gauges = (self._metrics.idle, self._metrics.lent)
        for gauge in gauges:
            gauge.clear()
        snapshot = self._snapshot
        self._metrics.demands.set(len(demands.find(snapshot)) if snapshot is not None else 0)
        if snapshot is None:
            return
        allocatable = resource_requests.total(resource_requests.parse(node.status.allocatable) for node in snapshot.nodes)
        bound = [pod for pod in snapshot.pods if pod.spec.node_name]
        used = resource_requests.total(pod.requests for pod in bound)
        lent = resource_requests.total(pod.requests for pod in bound if naming.SURPLUS in pod.metadata.labels)
        for name in allocatable.keys() - {"pods"}:
            _set(self._metrics.idle, name, max(allocatable[name] - used.get(name, 0), 0))
            _set(self._metrics.lent, name, lent.get(name, 0))


def _set(gauge: Gauge, resource: str, amount: int) -> None:
    unit = _unit(resource)
    gauge.labels(resource, unit).set(amount / MILLI_CPU if unit == "core" else amount)


def _unit(resource: str) -> str:
    """As in kube-state-metrics: amounts of different units are not added."""
    if resource == "cpu":
        return "core"
    is_size = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return "byte" if is_size else "integer"


def _leaving_with(result: SharingDecision, reason: str) -> set[WorkerKey]:
    return {
        (uid, index)
        for uid, allocation in result.jobs.items()
        for index, removal in allocation.leaving.items()
        if removal.reason == reason
    }
