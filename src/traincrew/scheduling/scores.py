"""Scores of the nodes that a pod fits, with kube-scheduler's weights."""

from __future__ import annotations

from collections.abc import Sequence

from traincrew.scheduling import node_affinity, pod_affinity
from traincrew.scheduling.node_info import DEFAULT_REQUESTS, NodeInfo
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

TAINT_TOLERATION, NODE_AFFINITY, POD_AFFINITY, LEAST_ALLOCATED = 3, 2, 2, 1


def select_host(pod: PodInfo, node_infos: Sequence[NodeInfo], snapshot: Snapshot) -> NodeInfo:
    """The node with the highest score, the first by name among equals."""
    if len(node_infos) == 1:
        return node_infos[0]
    taints = _normalize([-_untolerated_preferences(pod, node_info) for node_info in node_infos])
    affinity = _normalize([_node_affinity_weight(pod, node_info) for node_info in node_infos])
    pods = _normalize(
        [pod_affinity.preferred_score(pod, node_info, snapshot) for node_info in node_infos]
        if pod.spec.affinity
        else [0] * len(node_infos)
    )
    free = [_least_allocated(pod, node_info) for node_info in node_infos]
    totals = [
        TAINT_TOLERATION * a + NODE_AFFINITY * b + POD_AFFINITY * c + LEAST_ALLOCATED * d
        for a, b, c, d in zip(taints, affinity, pods, free, strict=True)
    ]
    return node_infos[max(range(len(node_infos)), key=lambda index: (totals[index], -index))]


def _normalize(values: list[int]) -> list[float]:
    low, high = min(values), max(values)
    return [100 * (value - low) / (high - low) if high > low else 0.0 for value in values]


def _untolerated_preferences(pod: PodInfo, node_info: NodeInfo) -> int:
    return sum(
        1
        for taint in node_info.taints
        if taint.effect == "PreferNoSchedule" and not node_affinity.tolerates(pod.spec.tolerations, taint)
    )


def _node_affinity_weight(pod: PodInfo, node_info: NodeInfo) -> int:
    return sum(
        int(term.get("weight") or 0)
        for term in node_affinity.preferred(pod.spec.affinity)
        if node_affinity.term_matches(term.get("preference") or {}, node_info.node)
    )


def _least_allocated(pod: PodInfo, node_info: NodeInfo) -> float:
    """The mean share of cpu and memory that would be left, in percent."""
    shares = []
    for name, default in DEFAULT_REQUESTS.items():
        if allocatable := node_info.allocatable.get(name, 0):
            left = allocatable - node_info.non_zero_requests(name) - (pod.requests.get(name) or default)
            shares.append(100 * max(left, 0) / allocatable)
    return sum(shares) / len(shares) if shares else 0.0
