"""Nodes that announce their end, or that have ended without a word."""

from __future__ import annotations

from collections.abc import Collection

from traincrew.scheduling.objects import Node

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
