"""The CPU time of one decision in a large cluster: 50 elastic jobs, 1000 nodes, 10,000 pods."""

from __future__ import annotations

import datetime as dt
import statistics
import time

from bench.sharing.replay import GPU, START
from traincrew.kinds.elasticity import ResizeCost
from traincrew.model.meta import Meta, OwnerReference
from traincrew.scheduling import objects, pod_info
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob, Member
from traincrew.sharing.policy import SharingPolicy

NODES, PODS, JOBS, WORKERS = 1000, 10_000, 50, 8
_MESSAGE = f"0/{NODES} nodes are available: {NODES} Insufficient {GPU}."
_REFUSED = [objects.Condition(type="PodScheduled", status="False", reason="Unschedulable", message=_MESSAGE)]


def print_times(repeats: int) -> None:
    print(f"{JOBS} elastic jobs, {NODES} nodes, {PODS} pods")
    print("| state | median, ms of CPU time | longest, ms |")
    print("|---|---|---|")
    for name, snapshot in (("nothing waits", snapshot_of(0)), ("every device is used, 20 pods wait", snapshot_of(20, free=0))):
        spent = [_milliseconds(snapshot) for _ in range(repeats)]
        print(f"| {name} | {statistics.median(spent):.0f} | {max(spent):.0f} |", flush=True)


def _milliseconds(snapshot: ClusterSnapshot) -> float:
    began = time.thread_time()
    allocate(snapshot, START)
    return 1000 * (time.thread_time() - began)


def snapshot_of(waiting: int, free: int = 1) -> ClusterSnapshot:
    """free: devices that nobody uses, on every second node."""
    jobs = tuple(_job(number) for number in range(JOBS))
    own = [member.pod for job in jobs for member in job.members if member.pod is not None]
    used = {pod.spec.node_name: 1 for pod in own}
    nodes = []
    for number in range(NODES):
        gpus = 8 + used.get(f"node-{number}", 0) + (free if number % 2 else 0)
        amounts: dict[str, str | int | float] = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus)}
        nodes.append(objects.Node(metadata=Meta(name=f"node-{number}"), status=objects.NodeStatus(allocatable=amounts)))
    others = [
        _pod(f"other-{number}", f"node-{number % NODES}", 1 if number < 8 * NODES else 0) for number in range(PODS - len(own))
    ]
    pending = [_pod(f"pending-{number}", "", 1) for number in range(waiting)]
    return ClusterSnapshot(tuple(nodes), (*others, *pending, *own), jobs, policy=SharingPolicy(settle=0.0))


def _job(number: int) -> ElasticJob:
    members = []
    for index in range(WORKERS):
        surplus, node = index >= WORKERS // 2, f"node-{number * WORKERS + index}"
        members.append(Member(index, _pod(f"job-{number}-worker-{index}", node, 1, surplus), surplus, START))
    worker_template = _pod(f"job-{number}-worker", "", 1, True)
    fields = {
        "min_replicas": 1,
        "wanted": WORKERS // 2,
        "max_replicas": 2 * WORKERS,
        "cost": ResizeCost(10.0, 5.0),
        "protected_worker": "oldest",
    }
    return ElasticJob(f"job-{number}", f"MPIJob team/job-{number}", worker_template, members=tuple(members), **fields)  # type: ignore[arg-type]


def _pod(name: str, node: str, gpus: int, surplus: bool = False) -> PodInfo:
    requests: dict[str, str | int | float] = {"cpu": "1", "memory": "1Gi", **({GPU: str(gpus)} if gpus else {})}
    container = objects.Container(resources=objects.ResourceRequirements(requests=requests))
    labels = {"traincrew.kubeflow.org/surplus": "true"} if surplus else {}
    owner = [OwnerReference(kind="TFJob", name=name, uid=f"owner-{name}", controller=True)]
    created = START - dt.timedelta(hours=1)
    meta = Meta(name=name, namespace="team", uid=name, labels=labels, owner_references=owner, creation_timestamp=created)
    spec = objects.PodSpec(node_name=node, priority=-1000 if surplus else 0, containers=[container])
    status = objects.PodStatus(phase="Running") if node else objects.PodStatus(conditions=_REFUSED)
    return pod_info.from_pod(objects.Pod(metadata=meta, spec=spec, status=status))
