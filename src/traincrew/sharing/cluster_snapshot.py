"""The input of the decision: nodes and pods of the cluster, elastic jobs, the policy, the history of earlier decisions."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.kinds.elasticity import ResizeCost
from traincrew.model import elastic_allocation
from traincrew.model.meta import Time
from traincrew.model.observed import RejectedWrite
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.volumes import StorageObjects
from traincrew.sharing.policy import SharingPolicy
from traincrew.sharing.surplus_lifetimes import SurplusLifetimes


@dataclasses.dataclass(frozen=True)
class Member:
    index: int
    pod: PodInfo | None = None
    surplus: bool = False
    running_since: Time | None = None
    """Since when its pod runs or ran, if it terminates."""

    @property
    def runs(self) -> bool:
        return self.running_since is not None and self.pod is not None and not self.pod.terminating

    @property
    def is_bound(self) -> bool:
        """Whether its pod is on a node and stays there."""
        return self.pod is not None and bool(self.pod.spec.node_name) and not self.pod.terminating

    @functools.cached_property
    def removal_order(self) -> tuple[bool, bool, float, int]:
        """Which workers are removed first: those that do not run yet, then those on idle capacity, then the youngest."""
        since = self.running_since.timestamp() if self.running_since is not None and self.runs else 0.0
        return (self.runs, not self.surplus, -since, -self.index)


@dataclasses.dataclass(frozen=True)
class QueuedWorkload:
    """The Workload by which Kueue admits one worker on idle capacity."""

    admitted: bool = False
    message: str = ""
    """Why it is not admitted, or why it was evicted."""


@dataclasses.dataclass(frozen=True)
class ElasticJob:
    """A job that runs, is not suspended, and whose number of workers the operator may choose."""

    uid: str
    reference: str
    """Kind, namespace and name, such as `MPIJob default/e`."""
    worker_template: PodInfo
    """The pod of a new worker on idle capacity, without a node."""
    min_replicas: int
    wanted: int
    max_replicas: int
    uses_idle_capacity: bool = True
    """Whether the job takes idle capacity beyond `wanted`."""
    sizes: frozenset[int] = frozenset()
    weight: float = 1.0
    priority: int = 0
    cost: ResizeCost = ResizeCost(10.0, 5.0)
    protected_worker: str = ""
    members: tuple[Member, ...] = ()
    """The recorded workers."""
    removed_members: tuple[Member, ...] = ()
    """Workers that are no longer recorded and whose pods still exist."""
    launchers: tuple[PodInfo, ...] = ()
    """Pods that start the workers and that the operator replaces."""
    last_resize_at: Time | None = None
    """When its number of workers last changed, as its status says."""
    rejections: Mapping[int, RejectedWrite] = dataclasses.field(default_factory=dict)
    """The pods of workers that the API server rejected, by index."""
    running: bool = True
    no_idle_message: str = ""
    """Why the job gets no idle capacity although its annotation asks for it."""
    no_idle_reason: str = ""
    """The reason in one word: Autoscaler or Queue."""
    workloads: Mapping[int, QueuedWorkload] | None = None
    """By index of the worker on idle capacity. None: the job is in no queue, and needs no admission."""

    def protected(self, nodes: frozenset[str]) -> frozenset[int]:
        """The workers that are removed only with their node. nodes: those that are not terminating."""
        if self.protected_worker == "first":
            return frozenset((0,))
        if self.protected_worker != "oldest":
            return frozenset()
        running = [each for each in self.members if each.runs]
        staying = [each for each in running if each.pod is not None and each.pod.spec.node_name in nodes] or running
        oldest = min(staying, key=lambda each: (each.running_since or times.ZERO, each.index), default=None)
        return frozenset((oldest.index,)) if oldest is not None else frozenset()


class FailedScaleUp(NamedTuple):
    """Why a worker on idle capacity got no pod or no node."""

    reason: str
    """Quota, Rejected or NoRoom."""
    message: str
    """With that of the API server or of the scheduler."""


class SurplusWorker(NamedTuple):
    """A worker on idle capacity that ran at the last decision."""

    running_since: Time
    node: str


class ReclaimedWorkers(NamedTuple):
    """Workers on idle capacity that others removed."""

    nodes: frozenset[str]
    since: Time
    """When they were last seen."""
    at: Time
    """When it was seen."""


@dataclasses.dataclass(frozen=True)
class JobHistory:
    """The state of a job that is kept between decisions."""

    credit: float
    """Seconds that the job may spend on scaling up."""
    credited_until: Time
    """The time up to which the credit is counted."""
    wanted: int
    cooldown_until: Time | None = None
    """The job is not scaled up before."""
    cooldown_cause: elastic_allocation.Removal | None = None
    """Why the last worker was removed."""
    capacity_since: Time | None = None
    """Since when there is idle capacity for the job."""
    backoff_until: Time | None = None
    failed_attempts: int = 0
    last_failure: FailedScaleUp | None = None
    """Why the last worker got no pod or no node."""
    granted: Mapping[int, Time] = dataclasses.field(default_factory=dict)
    """The workers on idle capacity that have no pod yet, by index with the time of the decision."""
    requested: Mapping[int, Time] = dataclasses.field(default_factory=dict)
    """The same for workers up to the requested number."""
    leaving: Mapping[int, elastic_allocation.Removal] = dataclasses.field(default_factory=dict)
    """Why workers were removed whose pods still exist."""
    surplus: Mapping[int, SurplusWorker] = dataclasses.field(default_factory=dict)
    """The workers on idle capacity that ran at the last decision, by index."""
    reclaimed: ReclaimedWorkers | None = None
    """The last of those that others removed, during the cooldown."""
    last_removal_at: Time | None = None
    """When workers on idle capacity were last removed for others."""
    imbalanced_since: Time | None = None
    """Since when another job could get a worker of this one."""


@dataclasses.dataclass(frozen=True)
class GangAttempt:
    """Whether a gang without pods was admitted while there was room for it."""

    failed: int = 0
    """How often it was not admitted although there was room."""
    room_since: Time | None = None
    paused_until: Time | None = None
    """Until then no worker is removed for it, and no capacity is kept free for it."""


@dataclasses.dataclass(frozen=True)
class DecisionHistory:
    """State that is kept between decisions. It may be lost at any time."""

    jobs: Mapping[str, JobHistory] = dataclasses.field(default_factory=dict)
    lifetimes: SurplusLifetimes = SurplusLifetimes()
    unused_since: Mapping[str, Time] = dataclasses.field(default_factory=dict)
    """Since when nodes of an autoscaler have no pod that keeps them, by name."""
    gangs: Mapping[str, GangAttempt] = dataclasses.field(default_factory=dict)
    """Of gangs that are not admitted, by the key of their demand."""


@dataclasses.dataclass(frozen=True)
class QuotaRejection:
    """Pods of one owner whose creation a quota rejects."""

    claimant: str
    namespace: str
    requests: Mapping[str, int]
    """The sum over the pods, with their number as `pods`."""
    since: Time


@dataclasses.dataclass(frozen=True)
class UnadmittedGang:
    """A gang of Volcano that has no pods before its PodGroup is admitted."""

    claimant: str
    pods: tuple[PodInfo, ...]
    """Those without which the gang does not run, as they would be created."""


@dataclasses.dataclass(frozen=True)
class ClusterSnapshot:
    nodes: tuple[Node, ...] = ()
    pods: tuple[PodInfo, ...] = ()
    """All pods of the cluster that have not finished."""
    jobs: tuple[ElasticJob, ...] = ()
    quotas: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    """The unused amounts of the quotas, by namespace and resource. Missing: there is no limit."""
    quota_rejections: tuple[QuotaRejection, ...] = ()
    unadmitted_gangs: tuple[UnadmittedGang, ...] = ()
    storage: StorageObjects = StorageObjects()
    namespaces: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """The labels of each namespace."""
    history: DecisionHistory = DecisionHistory()
    policy: SharingPolicy = SharingPolicy()


@dataclasses.dataclass(frozen=True)
class SharingDecision:
    jobs: Mapping[str, elastic_allocation.Allocation]
    """By UID of the job."""
    history: DecisionHistory
    requeue_at: Time | None = None
    """When the decision may change without a change of the cluster."""
