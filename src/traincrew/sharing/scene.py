"""The input of the decision: nodes and pods of the cluster, the elastic jobs, and what is remembered of earlier decisions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from traincrew.apimachinery import times
from traincrew.kinds.elasticity import ResizeCost
from traincrew.model import shares
from traincrew.model.meta import Time
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.volumes import StorageObjects

NOTICE_TAINTS = (
    "ToBeDeletedByClusterAutoscaler",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/spot-itn",
    "cloud.google.com/impending-node-termination",
    "karpenter.sh/disrupted",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/unreachable",
    "remediator.kubernetes.azure.com/unschedulable",
)
"""Taints by which a node announces its end, or that Kubernetes sets when it does not respond."""


@dataclasses.dataclass(frozen=True)
class Rules:
    """Settings of the decision. Times are in seconds."""

    settle: float = 10.0
    """How long room must be free before a job grows into it."""
    budget: float = 0.05
    """The part of its running time that a job may spend on changes of its own will."""
    largest_credit: float = 600.0
    postponement: float = 60.0
    """How long a job does not grow after a change that was not its own will."""
    patience: float = 2.0
    """How long the scheduler may preempt workers on idle capacity by itself."""
    even_out_after: float = 300.0
    """How long one job must have had fewer workers than another before a worker changes sides."""
    look_again: float = 2.0
    """How long the next decision about a job that starts may take."""
    first_backoff: float = 30.0
    longest_backoff: float = 600.0
    headroom: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts that are kept free of workers on idle capacity."""
    headroom_parts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The same as parts of all that the nodes have."""
    overcommitted: frozenset[str] = frozenset()
    """Resources of which other pods may request more than the node has. Workers on idle capacity never do."""
    notice_taints: frozenset[str] = frozenset(NOTICE_TAINTS)


@dataclasses.dataclass(frozen=True)
class Member:
    index: int
    pod: PodInfo | None = None
    surplus: bool = False
    running_since: Time | None = None

    @property
    def order(self) -> tuple[bool, bool, float, int]:
        """Who leaves first: workers that do not run yet, then those on idle capacity, then the youngest."""
        since = self.running_since.timestamp() if self.running_since is not None else 0.0
        return (self.running_since is not None, not self.surplus, -since, -self.index)


@dataclasses.dataclass(frozen=True)
class ElasticJob:
    """A job that runs, is not suspended, and whose number of workers the operator may choose."""

    uid: str
    reference: str
    """Kind, namespace and name, such as `MPIJob default/e`."""
    shape: PodInfo
    """A worker on idle capacity."""
    least: int
    wanted: int
    most: int
    grows: bool = True
    """Whether the job takes idle capacity beyond `wanted`."""
    sizes: frozenset[int] = frozenset()
    weight: float = 1.0
    priority: int = 0
    cost: ResizeCost = ResizeCost(10.0, 5.0)
    anchor: str = ""
    members: tuple[Member, ...] = ()
    """The recorded workers."""
    departing: tuple[Member, ...] = ()
    """Workers that are no longer recorded and whose pods still exist."""
    others: tuple[PodInfo, ...] = ()
    """Pods that are no workers and that the operator replaces: the launcher."""
    resized: Time | None = None
    """When its number of workers last changed, as its status says."""
    rejections: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """Why the API server rejected the pods of workers, by index."""
    running: bool = True
    yields_only: str = ""
    """Why the job gets no idle capacity though it asks for it."""
    yields_reason: str = ""
    """One word for it: Autoscaler or Queue."""

    def anchored(self, nodes: frozenset[str]) -> frozenset[int]:
        """The workers that never leave by choice. nodes: those that will stay."""
        if self.anchor == "first":
            return frozenset((0,))
        if self.anchor != "oldest":
            return frozenset()
        running = [each for each in self.members if each.running_since is not None and each.pod is not None]
        staying = [each for each in running if each.pod is not None and each.pod.spec.node_name in nodes] or running
        oldest = min(staying, key=lambda each: (each.running_since or times.ZERO, each.index), default=None)
        return frozenset((oldest.index,)) if oldest is not None else frozenset()


@dataclasses.dataclass(frozen=True)
class JobRecord:
    """What is remembered of a job."""

    credit: float
    """Seconds that the job may spend on changes of its own will."""
    credited: Time
    """The time up to which the credit is counted."""
    wanted: int
    postponed: Time | None = None
    """The job does not grow before."""
    postponed_by: shares.Leave | None = None
    """Why the last worker left."""
    room_since: Time | None = None
    backoff_until: Time | None = None
    refusals: int = 0
    refusal: str = ""
    """Who refused the last worker, and the words: of the API server, else of the scheduler."""
    granted: Mapping[int, Time] = dataclasses.field(default_factory=dict)
    """When workers on idle capacity were granted that had no pod yet."""
    asked: Mapping[int, Time] = dataclasses.field(default_factory=dict)
    """The same of workers up to the requested number."""
    leaving: Mapping[int, shares.Leave] = dataclasses.field(default_factory=dict)
    """Why workers leave whose pods still exist."""
    richer_since: Time | None = None
    """Since when another job could get a worker of this one."""


@dataclasses.dataclass(frozen=True)
class Memory:
    """It may be lost at any time."""

    jobs: Mapping[str, JobRecord] = dataclasses.field(default_factory=dict)
    stays: Mapping[str, Time] = dataclasses.field(default_factory=dict)
    """Since when each pod on idle capacity exists, by UID."""
    stay: float = 600.0
    """Running mean of how long a worker on idle capacity lasts."""


@dataclasses.dataclass(frozen=True)
class RefusedPods:
    """Pods of one owner that a quota keeps from being created."""

    claimant: str
    namespace: str
    requests: Mapping[str, int]
    """Of all of them together, with their number as `pods`."""
    since: Time


@dataclasses.dataclass(frozen=True)
class Scene:
    nodes: tuple[Node, ...] = ()
    pods: tuple[PodInfo, ...] = ()
    """All pods of the cluster that have not finished."""
    jobs: tuple[ElasticJob, ...] = ()
    quotas: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    """What the quotas of a namespace leave, by namespace and resource. Missing: there is no limit."""
    refused: tuple[RefusedPods, ...] = ()
    storage: StorageObjects = StorageObjects()
    namespaces: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """The labels of each namespace."""
    memory: Memory = Memory()
    rules: Rules = Rules()


@dataclasses.dataclass(frozen=True)
class Shares:
    jobs: Mapping[str, shares.Share]
    """By UID of the job."""
    memory: Memory
    look_again: Time | None = None
    """When the decision may change without a change of the cluster."""
