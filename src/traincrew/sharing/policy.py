"""The settings of the decision about the workers of elastic jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

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
"""Taints that announce the termination of a node, or that Kubernetes sets when it does not respond."""


@dataclasses.dataclass(frozen=True)
class SharingPolicy:
    """Settings of the decision. Times are in seconds."""

    stabilization: float = 10.0
    """How long capacity must be idle before a job is scaled up."""
    budget: float = 0.05
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
    autoscaled: str = "auto"
    """Which nodes belong to an autoscaler: auto (those that Karpenter has labelled), yes (all) or no (none)."""
    pin_surplus: bool = False
    """Whether workers on idle capacity may run on the node only that they are meant for."""
    initial_backoff: float = 30.0
    max_backoff: float = 600.0
    headroom: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts that are kept free of workers on idle capacity."""
    headroom_fractions: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The same as fractions of the allocatable resources of all nodes."""
    overcommitted: frozenset[str] = frozenset()
    """Resources of which other pods may request more than the node has. Workers on idle capacity never do."""
    notice_taints: frozenset[str] = frozenset(NOTICE_TAINTS)
