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
from traincrew.sharing.cluster_snapshot import ClusterSnapshot


@dataclasses.dataclass
class _FullNodes:
    count: int = 0
    """How many of the first nodes have no free capacity."""
    freed: set[int] = dataclasses.field(default_factory=set)
    """Positions of those among them from which a pod was removed since."""


class FreeCapacity:
    def __init__(self, cluster: ClusterSnapshot, nodes: Iterable[Node], excluded: Container[str] = ()) -> None:
        """nodes: those of the cluster that may be used. excluded: names of nodes that get no new workers on idle capacity."""
        self._excluded = excluded
        self._overcommitted = cluster.policy.overcommitted
        self._snapshot = Snapshot(nodes, self._overcommitted, cluster.storage, cluster.namespaces)
        self._infos = list(self._snapshot.node_infos.values())
        self._positions = {each.node.name: position for position, each in enumerate(self._infos)}
        self._full: dict[Hashable, _FullNodes] = {}
        """Which nodes have no capacity for pods of an equivalence class: there are thousands of nodes."""
        self._reasons: dict[Hashable, str] = {}
        for pod in cluster.pods:
            if pod.spec.node_name:
                self._snapshot.add_pod(pod, pod.spec.node_name)

    @property
    def nodes(self) -> frozenset[str]:
        return frozenset(self._snapshot.node_infos)

    def remove(self, pod: PodInfo) -> None:
        position = self._positions.get(pod.spec.node_name)
        if pod.uid in self._snapshot.anti_affinity_pods:  # it may have excluded others from many nodes
            self._full.clear()
        for full in self._full.values():
            if position is not None and position < full.count:
                full.freed.add(position)
        self._snapshot.remove_pod(pod, pod.spec.node_name)

    def add(self, pod: PodInfo) -> None:
        self._snapshot.add_pod(pod, pod.spec.node_name)

    def place(self, pod: PodInfo, *, no_overcommit: bool = False) -> PodInfo | None:
        """The pod on the first node that it fits, where it stays. no_overcommit: for workers on idle capacity.

        Nodes are filled one after the other, so that whole nodes stay free for others.
        """
        self._snapshot.overcommitted = frozenset() if no_overcommit else self._overcommitted
        equivalence_class = _equivalence_class(pod, no_overcommit)
        full = self._full.setdefault(equivalence_class, _FullNodes()) if equivalence_class is not None else _FullNodes()
        for position in (*sorted(full.freed), *range(full.count, len(self._infos))):
            node_info = self._infos[position]
            if not (no_overcommit and node_info.node.name in self._excluded) and self._fits(pod, node_info):
                return self._put(pod, node_info.node.name)
            full.freed.discard(position)
            full.count = max(full.count, position + 1)
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

    def dominant_share(self, pod: PodInfo) -> float:
        """The largest fraction of a resource of the cluster that the pod requests."""
        parts = [value / self._totals[name] for name, value in pod.requests.items() if name != "pods" and self._totals.get(name)]
        return max(parts, default=0.0) or 1.0

    def unschedulable_reasons(self, pod: PodInfo) -> str:
        """Why the pod fits no node, as the scheduler words it."""
        self._snapshot.overcommitted = frozenset()
        if (
            known := self._reasons.get(equivalence_class := _equivalence_class(pod, True))
        ) is not None and equivalence_class is not None:
            return known
        counts: dict[str, int] = {}
        for node_info in self._snapshot.node_infos.values():
            status = filters.run_filters(pod, node_info, self._snapshot)
            for reason in status.reasons if status is not None else ():
                counts[reason] = counts.get(reason, 0) + 1
        text = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items())) or "there is no node"
        self._reasons[equivalence_class] = text
        return text

    def _fits(self, pod: PodInfo, node_info: NodeInfo) -> bool:
        return filters.run_filters(pod, node_info, self._snapshot) is None

    def _put(self, pod: PodInfo, node: str) -> PodInfo:
        placed = pod.with_node(node)
        self._snapshot.add_pod(placed, node)
        return placed


def _equivalence_class(pod: PodInfo, no_overcommit: bool) -> Hashable:
    """Equal for pods that fit the same nodes. None if that depends on other pods or on volumes."""
    spec = pod.spec
    if spec.affinity or spec.volumes or spec.topology_spread_constraints or pod.ports:
        return None
    tolerations = tuple((each.key, each.operator, each.value, each.effect) for each in spec.tolerations)
    return (no_overcommit, tuple(sorted(pod.requests.items())), tuple(sorted(spec.node_selector.items())), tolerations)
