"""The nodes with the pods on them, while placement goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.volumes import Shelf


@dataclasses.dataclass(frozen=True)
class Laws:
    """What does not change while placement goes on."""

    overcommitted: frozenset[str] = frozenset()
    shelf: Shelf = Shelf()
    namespaces: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """The labels of each."""


class Snapshot:
    def __init__(self, nodes: Iterable[Node], laws: Laws) -> None:
        self.laws = laws
        self.rooms = {node.name: NodeInfo(node) for node in sorted(nodes, key=lambda each: each.name)}
        self.repelling: dict[str, tuple[PodInfo, NodeInfo]] = {}
        """Pods here that want certain others not near them."""

    def put(self, pod: PodInfo, node: str) -> None:
        """A node that is not known holds nobody up."""
        room = self.rooms.get(node)
        if room is not None and pod.uid not in room.pods:
            room.add(pod)
            if pod.spec.affinity and pod.terms("podAntiAffinity", "required"):
                self.repelling[pod.uid] = (pod, room)

    def take(self, pod: PodInfo, node: str) -> None:
        room = self.rooms.get(node)
        if room is not None and pod.uid in room.pods:
            room.remove(pod)
            self.repelling.pop(pod.uid, None)

    def here(self) -> Iterator[tuple[PodInfo, NodeInfo]]:
        for room in self.rooms.values():
            for pod in room.pods.values():
                yield pod, room
