"""Pods that no kubelet will ever end. PURE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.nodes import health, taints
from traincrew.embedded.controllers.pods import Pod

QUARANTINE = 40.0
"""Seconds: a node that was deleted by mistake may register again."""


def missing_nodes(pods: Iterable[Pod], nodes: Mapping[str, Object], before: Mapping[str, float], now: float) -> dict[str, float]:
    """The nodes that pods are bound to and that do not exist, with the running time at which this was first seen."""
    bound = {pod.spec.node_name for pod in pods if pod.spec.node_name}
    return {name: before.get(name, now) for name in bound - nodes.keys()}


def gone(missing: Mapping[str, float], now: float) -> set[str]:
    """Whose pods are deleted, if a read of the node confirms it."""
    return {name for name, since in missing.items() if now - since >= QUARANTINE}


def abandoned(pod: Pod, nodes: Mapping[str, Object]) -> bool:
    """The pod is being deleted and no kubelet will confirm it: it was never bound, or its node is said to be switched off."""
    if not pod.deleted or (pod.ended and not pod.metadata.deletion_grace_period_seconds):
        return False  # in the second case only its finalizers keep it
    if not pod.spec.node_name:
        return True
    node = nodes.get(pod.spec.node_name)
    return (
        node is not None
        and health.ready_status(node) != "True"
        and any(each["key"] == taints.OUT_OF_SERVICE for each in taints.of(node))
    )
