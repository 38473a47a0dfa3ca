"""Termination notices of nodes: taints and conditions that announce the end of a node, or show that it does not respond."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from traincrew.scheduling.objects import Node

AT_RISK_TAINTS = frozenset(("DeletionCandidateOfClusterAutoscaler", "aws-node-termination-handler/rebalance-recommendation"))
"""Taints of nodes that may be terminated: only workers on idle capacity are removed from them."""
UNREACHABLE = "node.kubernetes.io/unreachable"
SHUTTING_DOWN = "node is shutting down"
"""What a kubelet writes in the condition Ready while the machine shuts down."""


def find(node: Node, taints: Collection[str]) -> str:
    """The termination notice of a node: the key of a taint, or the message of its kubelet. Empty: there is none."""
    for taint in node.spec.taints:
        if taint.key in taints:
            return taint.key
    for condition in node.status.conditions:
        if condition.type == "Ready" and condition.status == "False" and SHUTTING_DOWN in condition.message:
            return SHUTTING_DOWN
    return ""


def find_risk(node: Node) -> str:
    """Why a node may be terminated or drained: the key of a taint, or that it is cordoned. Empty: it may not."""
    for taint in node.spec.taints:
        if taint.key in AT_RISK_TAINTS:
            return taint.key
    return "cordoned" if node.spec.unschedulable else ""


def terminating_nodes(nodes: Iterable[Node], taints: Collection[str]) -> dict[str, str]:
    """The nodes that are about to be terminated, or do not respond, with the notice."""
    found = {node.name: find(node, taints) for node in nodes}
    return {name: notice for name, notice in found.items() if notice}


def at_risk_nodes(nodes: Iterable[Node]) -> dict[str, str]:
    """The nodes that may be terminated, with the reason."""
    found = {node.name: find_risk(node) for node in nodes}
    return {name: notice for name, notice in found.items() if notice}
