"""Which of several nodes a pod likes best: kube-scheduler's weights."""

from __future__ import annotations

from collections.abc import Sequence

from traincrew.scheduling import node_affinity, pod_affinity
from traincrew.scheduling.node_info import NOMINAL, NodeInfo
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

TAINTS, WISHES, COMPANY, IDLE = 3, 2, 2, 1


def best(pod: PodInfo, rooms: Sequence[NodeInfo], world: Snapshot) -> NodeInfo:
    """The first by name among equals."""
    if len(rooms) == 1:
        return rooms[0]
    shy = _scaled([-_dislikes(pod, room) for room in rooms])
    wished = _scaled([_wishes(pod, room) for room in rooms])
    liked = _scaled([pod_affinity.sympathy(pod, room, world) for room in rooms] if pod.spec.affinity else [0] * len(rooms))
    idle = [_idle(pod, room) for room in rooms]
    totals = [TAINTS * a + WISHES * b + COMPANY * c + IDLE * d for a, b, c, d in zip(shy, wished, liked, idle, strict=True)]
    return rooms[max(range(len(rooms)), key=lambda index: (totals[index], -index))]


def _scaled(values: list[int]) -> list[float]:
    low, high = min(values), max(values)
    return [100 * (value - low) / (high - low) if high > low else 0.0 for value in values]


def _dislikes(pod: PodInfo, room: NodeInfo) -> int:
    return sum(
        1
        for taint in room.taints
        if taint.effect == "PreferNoSchedule" and not node_affinity.tolerates(pod.spec.tolerations, taint)
    )


def _wishes(pod: PodInfo, room: NodeInfo) -> int:
    return sum(
        int(wish.get("weight") or 0)
        for wish in node_affinity.preferred(pod.spec.affinity)
        if node_affinity.term_matches(wish.get("preference") or {}, room.node)
    )


def _idle(pod: PodInfo, room: NodeInfo) -> float:
    """The share that would be left, of cpu and memory."""
    shares = []
    for name, nominal in NOMINAL.items():
        if capacity := room.capacity.get(name, 0):
            left = capacity - room.load[name] - (pod.wanted.get(name) or nominal)
            shares.append(100 * max(left, 0) / capacity)
    return sum(shares) / len(shares) if shares else 0.0
