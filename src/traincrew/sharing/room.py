"""The free capacity of the cluster while a decision is made, judged by the filters of the scheduler."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Container, Hashable, Iterable, Sequence

from traincrew.scheduling import filters, resource_requests
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot
from traincrew.sharing.scene import Scene


@dataclasses.dataclass
class _Tried:
    count: int = 0
    """How many of the first nodes have no room."""
    freed: set[int] = dataclasses.field(default_factory=set)
    """Positions of those among them from which a pod was removed since."""


class Room:
    def __init__(self, scene: Scene, nodes: Iterable[Node], closed: Container[str] = ()) -> None:
        """nodes: those of the scene that may be used. closed: names of nodes that get no new workers on idle capacity."""
        self._closed = closed
        self._overcommitted = scene.rules.overcommitted
        self._snapshot = Snapshot(nodes, self._overcommitted, scene.storage, scene.namespaces)
        self._infos = list(self._snapshot.node_infos.values())
        self._positions = {each.node.name: position for position, each in enumerate(self._infos)}
        self._tried: dict[Hashable, _Tried] = {}
        """Which nodes have no room for pods that are alike: there are thousands of nodes."""
        self._reasons: dict[Hashable, str] = {}
        for pod in scene.pods:
            if pod.spec.node_name:
                self._snapshot.add_pod(pod, pod.spec.node_name)

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(self._snapshot.node_infos)

    def remove(self, pod: PodInfo) -> None:
        position = self._positions.get(pod.spec.node_name)
        if pod.uid in self._snapshot.anti_affinity_pods:  # it may have excluded others from many nodes
            self._tried.clear()
        for tried in self._tried.values():
            if position is not None and position < tried.count:
                tried.freed.add(position)
        self._snapshot.remove_pod(pod, pod.spec.node_name)

    def add(self, pod: PodInfo) -> None:
        self._snapshot.add_pod(pod, pod.spec.node_name)

    def place(self, pod: PodInfo, *, strict: bool = False) -> PodInfo | None:
        """The pod on the first node that it fits, where it stays. strict: on idle capacity, so no resource may be overcommitted.

        Nodes are filled one after the other, so that whole nodes stay free for others.
        """
        self._snapshot.overcommitted = frozenset() if strict else self._overcommitted
        alike = _equivalence(pod, strict)
        tried = self._tried.setdefault(alike, _Tried()) if alike is not None else _Tried()
        for position in (*sorted(tried.freed), *range(tried.count, len(self._infos))):
            node_info = self._infos[position]
            if not (strict and node_info.node.name in self._closed) and self._fits(pod, node_info):
                return self._put(pod, node_info.node.name)
            tried.freed.discard(position)
            tried.count = max(tried.count, position + 1)
        return None

    def place_on(self, pod: PodInfo, node: str) -> PodInfo | None:
        self._snapshot.overcommitted = self._overcommitted
        node_info = self._snapshot.node_infos.get(node)
        return self._put(pod, node) if node_info is not None and self._fits(pod, node_info) else None

    def reserve(self, pod: PodInfo, node: str) -> PodInfo:
        """The pod on a node that is being freed for it."""
        return self._put(pod, node)

    def place_all(self, pods: Sequence[PodInfo]) -> list[PodInfo] | None:
        """All of the pods or none."""
        placed: list[PodInfo] = []
        for pod in pods:
            if (one := self.place(pod)) is None:
                for each in placed:
                    self.remove(each)
                return None
            placed.append(one)
        return placed

    def free(self, names: Iterable[str]) -> dict[str, int]:
        """The sums over all nodes."""
        infos = self._snapshot.node_infos.values()
        return {name: sum(max(each.free.get(name, 0), 0) for each in infos) for name in names}

    @functools.cached_property
    def _totals(self) -> dict[str, int]:
        return resource_requests.total(each.allocatable for each in self._infos)

    def allocatable(self, name: str) -> int:
        """The sum over all nodes."""
        return self._totals.get(name, 0)

    def dominant_part(self, pod: PodInfo) -> float:
        """The largest part of a resource of the cluster that the pod requests."""
        parts = [value / self._totals[name] for name, value in pod.requests.items() if name != "pods" and self._totals.get(name)]
        return max(parts, default=0.0) or 1.0

    def reasons(self, pod: PodInfo) -> str:
        """Why the pod fits no node, in the words of the scheduler."""
        self._snapshot.overcommitted = frozenset()
        if (known := self._reasons.get(alike := _equivalence(pod, True))) is not None and alike is not None:
            return known
        counts: dict[str, int] = {}
        for node_info in self._snapshot.node_infos.values():
            status = filters.run_filters(pod, node_info, self._snapshot)
            for reason in status.reasons if status is not None else ():
                counts[reason] = counts.get(reason, 0) + 1
        text = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items())) or "there is no node"
        self._reasons[alike] = text
        return text

    def _fits(self, pod: PodInfo, node_info: NodeInfo) -> bool:
        return filters.run_filters(pod, node_info, self._snapshot) is None

    def _put(self, pod: PodInfo, node: str) -> PodInfo:
        placed = pod.with_node(node)
        self._snapshot.add_pod(placed, node)
        return placed


def _equivalence(pod: PodInfo, strict: bool) -> Hashable:
    """Equal for pods that every node treats alike. None if that depends on other pods or on volumes."""
    spec = pod.spec
    if spec.affinity or spec.volumes or spec.topology_spread_constraints or pod.ports:
        return None
    tolerations = tuple((each.key, each.operator, each.value, each.effect) for each in spec.tolerations)
    return (strict, tuple(sorted(pod.requests.items())), tuple(sorted(spec.node_selector.items())), tolerations)
