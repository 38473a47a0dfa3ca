"""Random clusters with elastic jobs, other pods and pending pods, and the state after a decision."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from collections.abc import Iterable
from typing import Any

import msgspec
from tests.scheduling import builders

from traincrew.kinds.elasticity import ResizeCost
from traincrew.model.meta import OwnerReference
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, Member, SharingDecision
from traincrew.sharing.policy import SharingPolicy

GPU = "nvidia.com/gpu"
NOW = builders.START
LONG_AGO = NOW - dt.timedelta(hours=1)
SURPLUS = {"traincrew.kubeflow.org/surplus": "true"}
EAGER = SharingPolicy(settle=0.0)
"""Idle capacity is used at once, so that one decision shows all that follows."""


def gpu_node(name: str, gpus: int, **more: Any) -> Node:
    return builders.node(name, more.pop("spec", None), **{GPU: str(gpus), "cpu": "64", "memory": "256Gi"}, **more)


def worker(job: str, index: int, node: str | None, *, surplus: bool = False, gpus: int = 1) -> PodInfo:
    more: dict[str, Any] = {"on": node} if node is not None else {}
    owner = {"ownerReferences": [{"kind": "MPIJob", "name": job, "uid": job, "controller": True}]}
    spec = {"priority": -1000 if surplus else 0}
    labels = SURPLUS if surplus else {}
    return with_owner(
        builders.pod(f"{job}-worker-{index}", spec, requests={GPU: str(gpus)}, labels=labels, age=600, **more), owner
    )


def with_owner(pod: PodInfo, meta: dict[str, Any]) -> PodInfo:
    references = [OwnerReference(**each) for each in meta["ownerReferences"]]
    return dataclasses.replace(pod, metadata=msgspec.structs.replace(pod.metadata, owner_references=references))


def pending_pods(name: str, gpus: int = 1, pods: int = 1, **more: Any) -> list[PodInfo]:
    """Pods of one owner that the scheduler has found no node for."""
    message = more.pop("message", f"0/1 nodes are available: 1 Insufficient {GPU}. preemption: 0/1 nodes are available.")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    status = {"phase": "Pending", "conditions": [condition], **more.pop("status", {})}
    owner = {"ownerReferences": [{"kind": "TFJob", "name": name, "uid": name, "controller": True}]}
    spec = {"priority": more.pop("priority", 0), **more.pop("spec", {})}
    made = [
        builders.pod(f"{name}-{index}", spec, requests={GPU: str(gpus)}, status=status, age=more.get("age", 60))
        for index in range(pods)
    ]
    return [with_owner(pod, owner) for pod in made]


def elastic_job(name: str, nodes: Iterable[str], **more: Any) -> ElasticJob:
    """nodes: of its workers. more: fields of ElasticJob; wanted defaults to 1, the rest of the workers is surplus."""
    wanted, gpus = more.get("wanted", 1), more.pop("gpus", 1)
    members = tuple(
        Member(index, worker(name, index, node, surplus=index >= wanted, gpus=gpus), index >= wanted, LONG_AGO)
        for index, node in enumerate(nodes)
    )
    worker_template = worker(name, 99, None, surplus=True, gpus=gpus)
    fields = {"min_replicas": 1, "wanted": wanted, "max_replicas": 4, "protected_worker": "oldest", **more}
    return ElasticJob(name, f"MPIJob team/{name}", worker_template, members=members, **fields)


def snapshot(nodes: list[Node], pods: Iterable[PodInfo] = (), jobs: Iterable[ElasticJob] = (), **more: Any) -> ClusterSnapshot:
    jobs = tuple(jobs)
    own = [member.pod for job in jobs for member in job.members if member.pod is not None]
    return ClusterSnapshot(tuple(nodes), (*pods, *own), jobs, policy=more.pop("policy", EAGER), **more)


def applied(before: ClusterSnapshot, result: SharingDecision, now: dt.datetime = LONG_AGO) -> ClusterSnapshot:
    """The snapshot after the decision has been carried out at once. now: since when new workers run."""
    jobs = []
    for job in before.jobs:
        allocation, known = result.jobs[job.uid], {each.index: each for each in job.members}
        members = []
        for index in allocation.members:
            surplus, node = index in allocation.surplus, allocation.node_hints.get(index)
            new = Member(index, worker(job.uid, index, node or free_node(before), surplus=surplus), surplus, now)
            members.append(known.get(index) or new)
        jobs.append(dataclasses.replace(job, members=tuple(members)))
    others = [pod for pod in before.pods if pod.uid not in {m.pod.uid for job in before.jobs for m in job.members if m.pod}]
    own = [member.pod for job in jobs for member in job.members if member.pod is not None]
    return dataclasses.replace(before, pods=(*others, *own), jobs=tuple(jobs), history=result.history)


def free_node(before: ClusterSnapshot) -> str:
    used = {node.name: 0 for node in before.nodes}
    for pod in before.pods:
        if pod.spec.node_name in used:
            used[pod.spec.node_name] += pod.requests.get(GPU, 0)
    capacity = {node.name: int(node.status.allocatable[GPU]) - used[node.name] for node in before.nodes}
    return max(sorted(capacity), key=lambda name: capacity[name])


def random_snapshot(seed: int, demands: int | None = None) -> ClusterSnapshot:
    chance = random.Random(seed)
    sizes = [chance.randint(1, 4) for _ in range(chance.randint(1, 4))]
    nodes = [gpu_node(f"node-{number}", size) for number, size in enumerate(sizes)]
    free = {node.name: size for node, size in zip(nodes, sizes, strict=True)}
    pods = [
        builders.pod(f"busy-{number}", requests={GPU: "1"}, on=node, age=900)
        for number in range(chance.randint(0, 4))
        if (node := _take(free, chance))
    ]
    jobs = []
    for number in range(chance.randint(1, 3)):
        wanted = chance.randint(1, 3)
        where = [node for _ in range(chance.randint(0, 5)) if (node := _take(free, chance))]
        bounds = {"max_replicas": max(wanted, len(where)) + chance.randint(0, 3)}
        cost = chance.choice([ResizeCost(10.0, 5.0), ResizeCost(20.0, 20.0, 5.0)])
        protected_worker, priority = chance.choice(["", "first", "oldest"]), chance.choice([0, 0, 5])
        bounds["min_replicas"] = chance.randint(1, wanted)
        more = {"cost": cost, "protected_worker": protected_worker, "priority": priority}
        jobs.append(elastic_job(f"e{number}", where, wanted=wanted, **bounds, **more))
    for number in range(chance.randint(0, 2) if demands is None else demands):
        pods += pending_pods(
            f"pending-{number}", chance.randint(1, 2), chance.randint(1, 2), priority=chance.choice([0, 0, 5, -5])
        )
    return snapshot(nodes, pods, jobs)


def _take(free: dict[str, int], chance: random.Random) -> str:
    open_nodes = sorted(name for name, left in free.items() if left)
    if not open_nodes:
        return ""
    name = chance.choice(open_nodes)
    free[name] -= 1
    return name
