"""A cluster in virtual time: a simple scheduler, jobs whose speed depends on their workers, and the real decision `share`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import heapq
import itertools
from collections.abc import Iterable

from bench.sharing.philly import TraceJob
from traincrew.kinds.elasticity import ResizeCost
from traincrew.model.meta import Meta, OwnerReference
from traincrew.scheduling import objects, pod_info
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, DecisionHistory, ElasticJob, Member
from traincrew.sharing.policy import SharingPolicy

GPU = "nvidia.com/gpu"
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SPEED = 0.9
"""n workers are n to the power of this times as fast as one."""
LEAVE_SECONDS = 5.0
"""How long a worker that leaves holds its GPU."""
_MESSAGE = f"0/8 nodes are available: 8 Insufficient {GPU}."
_UNSCHEDULABLE = [objects.Condition(type="PodScheduled", status="False", reason="Unschedulable", message=_MESSAGE)]


@dataclasses.dataclass
class Worker:
    index: int
    surplus: bool
    created: float
    node: str = ""
    leaves_at: float | None = None


@dataclasses.dataclass
class ReplayedJob:
    trace: TraceJob
    uid: str
    min_replicas: int
    wanted: int
    max_replicas: int
    cost: ResizeCost
    workers: dict[int, Worker] = dataclasses.field(default_factory=dict)
    left: float = 0.0
    """Work, in seconds of one worker."""
    started: float | None = None
    ended: float | None = None
    paused_until: float = 0.0
    updated: float = 0.0
    trained: float = 0.0
    """GPU seconds of progress that was kept."""

    @property
    def elastic(self) -> bool:
        return self.min_replicas < self.max_replicas

    @property
    def running(self) -> int:
        return sum(bool(each.node) and each.leaves_at is None for each in self.workers.values())

    def pause(self, now: float, seconds: float, redo: float) -> None:
        self.paused_until = max(self.paused_until, now) + seconds
        self.left += redo * self.running**SPEED
        self.trained -= redo * self.running


class SharingReplay:
    def __init__(self, jobs: Iterable[ReplayedJob], nodes: int = 8, gpus: int = 8, policy: SharingPolicy | None = None) -> None:
        self.jobs = {job.uid: job for job in jobs}
        self._nodes = {f"node-{number}": gpus for number in range(nodes)}
        self._free = dict(self._nodes)
        self._objects = tuple(_node(name, count) for name, count in self._nodes.items())
        self._policy, self._history = policy or SharingPolicy(), DecisionHistory()
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, str]] = []
        self._live: dict[str, ReplayedJob] = {}
        for job in self.jobs.values():
            self._at(job.trace.arrival, job.uid)
        self.now = 0.0

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, uid = heapq.heappop(self._events)
            self._advance()
            if uid and uid not in self._live and self.jobs[uid].ended is None:
                self._arrive(self.jobs[uid])
            self._settle()
        self.now = until
        self._advance()

    def _at(self, time: float, uid: str = "") -> None:
        heapq.heappush(self._events, (time, next(self._numbers), uid))

    def _arrive(self, job: ReplayedJob) -> None:
        self._live[job.uid] = job
        job.updated = self.now
        job.workers = {index: Worker(index, False, self.now) for index in range(job.wanted)}
        self._at(self.now + self._policy.preemption_grace + 0.1)

    def _advance(self) -> None:
        for job in list(self._live.values()):
            active = max(self.now - max(job.updated, job.paused_until), 0.0)
            if active and job.started is not None:
                job.left -= active * job.running**SPEED
                job.trained += active * job.running
            job.updated = self.now
            for worker in [each for each in job.workers.values() if each.leaves_at is not None and each.leaves_at <= self.now]:
                self._free[worker.node] += 1
                del job.workers[worker.index]
            if job.started is not None and job.left <= 1e-6:
                self._end(job)

    def _end(self, job: ReplayedJob) -> None:
        job.ended = self.now
        del self._live[job.uid]
        for worker in job.workers.values():
            if worker.node:
                self._free[worker.node] += 1

    def _settle(self) -> None:
        self._schedule()
        if any(job.elastic for job in self._live.values()):
            self._share()
            self._schedule()
        ends = [
            max(self.now, job.paused_until) + max(job.left, 0.0) / job.running**SPEED + 1e-6
            for job in self._live.values()
            if job.started is not None and job.running
        ]
        if ends and (not self._events or min(ends) < self._events[0][0]):
            self._at(min(ends))

    def _schedule(self) -> None:
        """In the order of arrival. A rigid job gets all of its GPUs or none; later ones may pass it."""
        for job in list(self._live.values()):
            waiting = [each for each in job.workers.values() if not each.node]
            needed = max(job.min_replicas - job.running, 0) if job.elastic else len(waiting)
            free = sum(self._free.values())
            if not waiting or free < max(needed, 1):
                continue
            bound = waiting[: free if job.elastic else None]
            for worker in bound:
                worker.node = max(self._free, key=lambda name: self._free[name])
                self._free[worker.node] -= 1
            if job.started is None:
                job.started = self.now
            elif bound:
                job.pause(self.now, job.cost.up, job.cost.redo)

    def _share(self) -> None:
        now = START + dt.timedelta(seconds=self.now)
        elastic = tuple(self._elastic(job) for job in self._live.values() if job.elastic)
        pods = tuple(_pod(job, worker) for job in self._live.values() for worker in job.workers.values())
        result = allocate(ClusterSnapshot(self._objects, pods, elastic, history=self._history, policy=self._policy), now)
        self._history = result.history
        for uid, given in result.jobs.items():
            self._apply(self.jobs[uid], frozenset(given.members), given.surplus)
        if result.requeue_at is not None:
            self._at((result.requeue_at - START).total_seconds() + 0.01)

    def _apply(self, job: ReplayedJob, members: frozenset[int], surplus: frozenset[int]) -> None:
        leaving = [each for each in job.workers.values() if each.index not in members and each.leaves_at is None]
        for worker in leaving:
            if not worker.node:
                del job.workers[worker.index]
                continue
            worker.leaves_at = self.now + LEAVE_SECONDS
            self._at(worker.leaves_at)
        if any(worker.node for worker in leaving):
            job.pause(self.now, job.cost.down, job.cost.redo)
        for index in sorted(members - job.workers.keys()):
            job.workers[index] = Worker(index, index in surplus, self.now)

    def _elastic(self, job: ReplayedJob) -> ElasticJob:
        members = tuple(_member(job, each) for each in job.workers.values() if each.leaves_at is None)
        removed_members = tuple(_member(job, each) for each in job.workers.values() if each.leaves_at is not None)
        worker_template = _pod(job, Worker(9999, True, self.now))
        return ElasticJob(
            job.uid, job.uid, worker_template, job.min_replicas, job.wanted, job.max_replicas, cost=job.cost,
            protected_worker="oldest", members=members, removed_members=removed_members, running=job.started is not None,
        )  # fmt: skip


def _member(job: ReplayedJob, worker: Worker) -> Member:
    since = START + dt.timedelta(seconds=worker.created) if worker.node else None
    return Member(worker.index, _pod(job, worker), worker.surplus, since)


def _pod(job: ReplayedJob, worker: Worker) -> PodInfo:
    return _build_pod(job.uid, worker.index, worker.surplus, worker.created, worker.node, worker.leaves_at)


@functools.lru_cache(maxsize=10_000)
def _build_pod(job: str, index: int, surplus: bool, created: float, node: str, leaves_at: float | None) -> PodInfo:
    """Most pods are as they were at the last event."""
    owner = OwnerReference(kind="Job", name=job, uid=job, controller=True)
    labels = {"traincrew.kubeflow.org/surplus": "true"} if surplus else {}
    removal = START + dt.timedelta(seconds=leaves_at) if leaves_at is not None else None
    meta = Meta(
        name=f"{job}-{index}", namespace="team", uid=f"{job}-{index}", labels=labels, owner_references=[owner],
        creation_timestamp=START + dt.timedelta(seconds=created), deletion_timestamp=removal,
    )  # fmt: skip
    requests = objects.ResourceRequirements(requests={GPU: 1})
    spec = objects.PodSpec(node_name=node, priority=-1000 if surplus else 0, containers=[objects.Container(resources=requests)])
    status = objects.PodStatus(phase="Running" if node else "Pending", conditions=[] if node else _UNSCHEDULABLE)
    return pod_info.from_pod(objects.Pod(metadata=meta, spec=spec, status=status))


def _node(name: str, gpus: int) -> objects.Node:
    allocatable: dict[str, str | int | float] = {GPU: gpus, "cpu": 1000, "memory": "1000Gi", "pods": 1000}
    return objects.Node(metadata=Meta(name=name), status=objects.NodeStatus(allocatable=allocatable))
