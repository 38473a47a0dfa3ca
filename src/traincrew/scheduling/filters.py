"""The filters: whether a pod fits a node, with the order and the messages of kube-scheduler's plugins."""

from __future__ import annotations

from typing import NamedTuple

from traincrew.scheduling import node_affinity, pod_affinity, volumes
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

NODE_UNSCHEDULABLE = "node(s) were unschedulable"
NODE_AFFINITY_MISMATCH = "node(s) didn't match Pod's node affinity/selector"
NODE_NAME_MISMATCH = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
PORT_CONFLICT = "node(s) didn't have free ports for the requested pod ports"


class FilterStatus(NamedTuple):
    """Why a pod does not fit a node."""

    reasons: tuple[str, ...]
    unresolvable: bool
    """UnschedulableAndUnresolvable: preemption would not help."""
    insufficient: tuple[str, ...] = ()
    """Names of the insufficient resources."""


def run_filters(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> FilterStatus | None:
    """None: the pod fits the node."""
    return (
        _filter_by_node(pod, node_info)
        or _filter_by_resources(pod, node_info, snapshot)
        or _filter_by_pods(pod, node_info, snapshot)
    )


def _filter_by_node(pod: PodInfo, node_info: NodeInfo) -> FilterStatus | None:
    spec, node = pod.spec, node_info.node
    if node.spec.unschedulable and not node_affinity.tolerates(spec.tolerations, node_affinity.UNSCHEDULABLE):
        return FilterStatus((NODE_UNSCHEDULABLE,), True)
    if node_info.taints and (taint := node_affinity.untolerated_taint(spec, node_info.taints)) is not None:
        return FilterStatus((f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}",), True)
    if spec.node_selector or spec.affinity:
        names = node_affinity.required_node_names(spec.affinity)
        if names is not None and node.name not in names:
            return FilterStatus((NODE_NAME_MISMATCH,), True)
        if not node_affinity.matches_pod(spec, node):
            return FilterStatus((NODE_AFFINITY_MISMATCH,), True)
    return None


def _filter_by_resources(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> FilterStatus | None:
    if pod.ports and node_info.has_port_conflict(pod):
        return FilterStatus((PORT_CONFLICT,), False)
    if insufficient := node_info.insufficient_resources(pod, snapshot.overcommitted):
        reasons = tuple("Too many pods" if name == "pods" else f"Insufficient {name}" for name in insufficient)
        return FilterStatus(reasons, False, tuple(insufficient))
    if pod.spec.volumes and (reasons := volumes.node_conflicts(pod, node_info.node, snapshot.storage)):
        return FilterStatus(reasons, True)
    return None


def _filter_by_pods(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> FilterStatus | None:
    if not pod_affinity.is_relevant(pod, snapshot):
        return None
    if pod.spec.topology_spread_constraints and (reason := pod_affinity.topology_spread_violation(pod, node_info, snapshot)):
        return FilterStatus((reason,), reason == pod_affinity.TOPOLOGY_KEY_MISSING)
    if pod.affinity_terms("podAffinity", "required") and not pod_affinity.satisfies_affinity(pod, node_info, snapshot):
        return FilterStatus((pod_affinity.AFFINITY_MISMATCH,), True)
    if pod_affinity.violates_anti_affinity(pod, node_info, snapshot):
        return FilterStatus((pod_affinity.ANTI_AFFINITY_MISMATCH,), False)
    if pod_affinity.violates_existing_anti_affinity(pod, node_info, snapshot):
        return FilterStatus((pod_affinity.EXISTING_ANTI_AFFINITY_MISMATCH,), False)
    return None
