"""The settings of the decision about the workers of elastic jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from traincrew import settings

UNRESPONSIVE_TAINTS = ("node.kubernetes.io/out-of-service", "node.kubernetes.io/unreachable")
"""Taints of nodes that do not respond. Kubernetes sets the second one itself, so they do not depend on the provider."""
NOTICE_TAINTS = (
    "ToBeDeletedByClusterAutoscaler",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/spot-itn",
    "cloud.google.com/impending-node-termination",
    "karpenter.sh/disrupted",
    "remediator.kubernetes.azure.com/unschedulable",
)
"""Taints by which known clouds and autoscalers announce the termination of a node."""


@dataclasses.dataclass(frozen=True)
class SharingPolicy:
    """Settings of the decision. Times are in seconds. Those that users may change have the names of `settings.Sharing`."""

    settle: float = settings.Sharing.settle
    """How long capacity must be idle before a job is scaled up."""
    resize_budget: float = settings.Sharing.resize_budget
    """The fraction of its running time that a job may spend on scaling up."""
    max_credit: float = 600.0
    cooldown: float = 60.0
    """How long a job is not scaled up after workers were removed."""
    preemption_grace: float = 2.0
    """How long the scheduler may preempt workers on idle capacity by itself."""
    rebalance_after: float = 300.0
    """How long one job must have had fewer workers than another before a worker is moved."""
    starting_requeue: float = 2.0
    """The time until the next decision about a job that is starting."""
    withdraw_after: float = 120.0
    """How long workers on idle capacity stay on a node of an autoscaler that nothing else uses."""
    gang_admission: float = 30.0
    """How long a gang that is not admitted has room kept free for it. Volcano looks every second."""
    autoscaled: str = settings.Sharing.autoscaled
    """Which nodes belong to an autoscaler: auto (those that Karpenter has labelled), yes (all) or no (none)."""
    pin_surplus: bool = settings.Sharing.pin_surplus
    """Whether workers on idle capacity may run on the node only that they are meant for."""
    initial_backoff: float = 30.0
    max_backoff: float = 600.0
    headroom: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts that workers on idle capacity must leave unused."""
    headroom_fractions: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The same as fractions of the allocatable resources of all nodes."""
    overcommitted: frozenset[str] = frozenset()
    """Resources of which other pods may request more than the node has. Workers on idle capacity never do."""
    notice_taints: frozenset[str] = frozenset((*NOTICE_TAINTS, *UNRESPONSIVE_TAINTS))
    """Taints of nodes that workers leave."""
