"""Nodes that announce their end, or that have ended without a word."""

from __future__ import annotations

from collections.abc import Collection

from traincrew.scheduling.objects import Node

SOFT_TAINTS = frozenset(("DeletionCandidateOfClusterAutoscaler", "aws-node-termination-handler/rebalance-recommendation"))
"""Taints by which a node announces that it may end: workers on idle capacity leave it, others stay."""
UNREACHABLE = "node.kubernetes.io/unreachable"
SHUTTING_DOWN = "node is shutting down"
"""What a kubelet writes in the condition Ready while the machine shuts down."""


def find(node: Node, taints: Collection[str]) -> str:
    """How the node announces its end: the key of a taint, or the words of its kubelet. Empty: it does not."""
    for taint in node.spec.taints:
        if taint.key in taints:
            return taint.key
    for condition in node.status.conditions:
        if condition.type == "Ready" and condition.status == "False" and SHUTTING_DOWN in condition.message:
            return SHUTTING_DOWN
    return ""


def find_soft(node: Node) -> str:
    """How the node announces that it may end or shall be empty: the key of a taint, or that it is cordoned."""
    for taint in node.spec.taints:
        if taint.key in SOFT_TAINTS:
            return taint.key
    return "cordoned" if node.spec.unschedulable else ""
