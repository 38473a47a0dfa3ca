"""Demand: pods that are pending for lack of resources and are not on idle capacity, grouped by gang or owner."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from traincrew.model import naming
from traincrew.model.meta import Time
from traincrew.scheduling import gangs, resource_requests, volumes
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import scheduler_messages
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, ElasticJob


@dataclasses.dataclass(frozen=True)
class Demand:
    claimant: str
    """The owner of the pods, such as `TFJob research/mnist`."""
    pods: tuple[PodInfo, ...]
    priority: int
    since: Time
    job: ElasticJob | None = None
    """The elastic job that waits for its own workers."""
    required: bool = True
    """False: the elastic job runs without these workers, so only workers on idle capacity are removed for them."""
    unadmitted: bool = False
    """Whether the pods do not exist before the gang scheduler admits them."""

    @property
    def key(self) -> str:
        return self.pods[0].uid

    @property
    def nominated(self) -> bool:
        """Whether the scheduler preempts pods for it already."""
        return any(pod.status.nominated_node_name for pod in self.pods)

    @property
    def message(self) -> str:
        return f"{self.claimant} waits for {_amounts(self.pods)}"


def _amounts(pods: Iterable[PodInfo]) -> str:
    total = resource_requests.total(pod.requests for pod in pods)
    return " and ".join(amount(name, total[name]) for name in main_resources(total)) or "a node"


def main_resources(requests: Mapping[str, int]) -> list[str]:
    """Devices, or else CPU and memory."""
    return [name for name in requests if "/" in name] or [name for name in ("cpu", "memory") if name in requests]


def needed(pods: Sequence[PodInfo]) -> str:
    """About pods of one owner that have got their resources."""
    return f"{reference(pods[0])} needed {_amounts(pods)}"


def amount(name: str, value: int) -> str:
    if name == "cpu":
        return f"{value / 1000:g} cpu"
    is_size = name in ("memory", "ephemeral-storage") or name.startswith("hugepages-")
    return f"{value / 2**30:.3g}Gi of {name}" if is_size else f"{value} {name}"


def find(snapshot: ClusterSnapshot) -> list[Demand]:
    """The demands in the order in which they are satisfied: by priority, then by age.

    Pods that wait for something else than resources are not included: removing workers would not help them.
    """
    groups: dict[object, list[PodInfo]] = {}
    for pod in snapshot.pods:
        if pod.pending and naming.SURPLUS not in pod.metadata.labels and is_unschedulable(pod):
            groups.setdefault(_group(pod), []).append(pod)
    own = {member.pod.uid: job for job in snapshot.jobs for member in job.members if member.pod is not None}
    gangs = (_demand(gang.claimant, list(gang.pods)) for gang in snapshot.unadmitted_gangs)
    demands = [dataclasses.replace(demand, unadmitted=True) for demand in gangs]
    for pods in groups.values():
        ordered = sorted(pods, key=lambda pod: (pod.created, pod.full_name))
        job = own.get(ordered[0].uid)
        if job is not None:  # the workers of an elastic job come one by one
            ordered = [pod for pod in ordered if _lack_resources([pod], snapshot)]
        elif not _lack_resources(ordered, snapshot):
            continue
        demands += _of_elastic(job, ordered) if job is not None else [_demand(reference(ordered[0]), ordered)]
    return sorted(demands, key=lambda demand: (-demand.priority, not demand.required, demand.since, demand.pods[0].full_name))


def _lack_resources(pods: list[PodInfo], snapshot: ClusterSnapshot) -> bool:
    conditions = (pod.status.condition("PodScheduled") for pod in pods)
    lacking = scheduler_messages.lack_resources(each.message for each in conditions if each is not None)
    return lacking and not any(pod.spec.resource_claims or volumes.unresolvable_reason(pod, snapshot.storage) for pod in pods)


def _of_elastic(job: ElasticJob, pods: list[PodInfo]) -> list[Demand]:
    """The workers without which the job does not run are one demand, each further worker is a demand of its own."""
    bound = sum(member.pod is not None and bool(member.pod.spec.node_name) for member in job.members)
    needed = max(job.min_replicas - bound, 0)
    demands = [_demand(job.reference, pods[:needed], job)] if needed and pods else []
    return demands + [dataclasses.replace(_demand(job.reference, [pod], job), required=False) for pod in pods[needed:]]


def _demand(claimant: str, pods: list[PodInfo], job: ElasticJob | None = None) -> Demand:
    return Demand(claimant, tuple(pods), min(pod.spec.priority for pod in pods), min(pod.created for pod in pods), job)


def is_unschedulable(pod: PodInfo) -> bool:
    condition = pod.status.condition("PodScheduled")
    return condition is not None and condition.status == "False"


def scheduler_message(pod: PodInfo) -> str:
    """Why the scheduler found no node for the pod, without what it says about preemption."""
    condition = pod.status.condition("PodScheduled")
    return condition.message.partition(". ")[0].rstrip(".") if condition is not None else ""


def _group(pod: PodInfo) -> object:
    owner = pod.metadata.controller
    return gangs.gang_of(pod) or (owner.uid if owner is not None else pod.uid)


def reference(pod: PodInfo) -> str:
    """The owner of a pod, such as `TFJob research/mnist`, or the pod."""
    owner = pod.metadata.controller
    if owner is None:
        return f"Pod {pod.full_name}"
    return f"{owner.kind} {pod.metadata.namespace}/{owner.name}"
