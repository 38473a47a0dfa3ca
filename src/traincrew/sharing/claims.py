"""Claims: pods that wait for a node and are not on idle capacity, in units that are served together."""

from __future__ import annotations

import dataclasses

from traincrew.model import naming
from traincrew.model.meta import Time
from traincrew.scheduling import gangs, resource_requests, volumes
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import scheduler_messages
from traincrew.sharing.scene import ElasticJob, Scene


@dataclasses.dataclass(frozen=True)
class Claim:
    claimant: str
    """Such as `TFJob research/mnist`."""
    pods: tuple[PodInfo, ...]
    priority: int
    since: Time
    job: ElasticJob | None = None
    """The elastic job that waits for its own workers."""
    necessary: bool = True
    """False: the elastic job runs without these workers, so only idle capacity is given back for them."""

    @property
    def nominated(self) -> bool:
        """Whether the scheduler is making room for it already."""
        return any(pod.status.nominated_node_name for pod in self.pods)

    @property
    def words(self) -> str:
        total = resource_requests.total(pod.requests for pod in self.pods)
        devices = [name for name in total if "/" in name] or [name for name in ("cpu", "memory") if name in total]
        amounts = " and ".join(amount(name, total[name]) for name in devices)
        return f"{self.claimant} waits for {amounts or 'a node'}"


def amount(name: str, value: int) -> str:
    if name == "cpu":
        return f"{value / 1000:g} cpu"
    return f"{value / 2**30:.3g}Gi of memory" if name == "memory" else f"{value} {name}"


def find(scene: Scene) -> list[Claim]:
    """The claims in the order in which they are served: by priority, then by age.

    Pods that lack something else than resources are none: whoever left for them would leave in vain.
    """
    units: dict[object, list[PodInfo]] = {}
    for pod in scene.pods:
        if pod.pending and naming.SURPLUS not in pod.metadata.labels and is_unschedulable(pod):
            units.setdefault(_unit(pod), []).append(pod)
    own = {member.pod.uid: job for job in scene.jobs for member in job.members if member.pod is not None}
    claims: list[Claim] = []
    for pods in units.values():
        ordered = sorted(pods, key=lambda pod: (pod.created, pod.full_name))
        job = own.get(ordered[0].uid)
        if job is not None:  # the workers of an elastic job come one by one
            ordered = [pod for pod in ordered if _lack_resources([pod], scene)]
        elif not _lack_resources(ordered, scene):
            continue
        claims += _of_elastic(job, ordered) if job is not None else [_claim(_reference(ordered[0]), ordered)]
    return sorted(claims, key=lambda claim: (-claim.priority, not claim.necessary, claim.since, claim.pods[0].full_name))


def _lack_resources(pods: list[PodInfo], scene: Scene) -> bool:
    conditions = (pod.status.condition("PodScheduled") for pod in pods)
    said = scheduler_messages.lack_resources(each.message for each in conditions if each is not None)
    return said and not any(pod.spec.resource_claims or volumes.unresolvable_reason(pod, scene.storage) for pod in pods)


def _of_elastic(job: ElasticJob, pods: list[PodInfo]) -> list[Claim]:
    """The workers without which the job does not run are one claim, each further worker is one of its own."""
    bound = sum(member.pod is not None and bool(member.pod.spec.node_name) for member in job.members)
    needed = max(job.least - bound, 0)
    claims = [_claim(job.reference, pods[:needed], job)] if needed and pods else []
    return claims + [dataclasses.replace(_claim(job.reference, [pod], job), necessary=False) for pod in pods[needed:]]


def _claim(claimant: str, pods: list[PodInfo], job: ElasticJob | None = None) -> Claim:
    return Claim(claimant, tuple(pods), min(pod.spec.priority for pod in pods), min(pod.created for pod in pods), job)


def is_unschedulable(pod: PodInfo) -> bool:
    condition = pod.status.condition("PodScheduled")
    return condition is not None and condition.status == "False"


def _unit(pod: PodInfo) -> object:
    owner = pod.metadata.controller
    return gangs.gang_of(pod) or (owner.uid if owner is not None else pod.uid)


def _reference(pod: PodInfo) -> str:
    owner = pod.metadata.controller
    if owner is None:
        return f"Pod {pod.full_name}"
    return f"{owner.kind} {pod.metadata.namespace}/{owner.name}"
