"""The nodes and the pods on them during one scheduling cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.pod_matches import Namespaces, PodMatcher
from traincrew.scheduling.volumes import StorageObjects


class Snapshot:
    def __init__(
        self,
        nodes: Iterable[Node],
        overcommitted: frozenset[str],
        storage: StorageObjects,
        namespaces: Namespaces,
        matcher: PodMatcher | None = None,
    ) -> None:
        """matcher: that of the last cycle."""
        self.overcommitted, self.storage = overcommitted, storage
        self.node_infos = {node.name: NodeInfo(node) for node in sorted(nodes, key=lambda each: each.name)}
        self.matcher = matcher or PodMatcher()
        topology_keys = {key for each in self.node_infos.values() for key in each.node.metadata.labels}
        self.matcher.start_cycle(namespaces, topology_keys)
        self.anti_affinity_pods: dict[str, tuple[PodInfo, NodeInfo]] = {}
        """Pods with required anti-affinity, by UID: they may exclude other pods from their nodes."""

    def add_pod(self, pod: PodInfo, node: str) -> None:
        """A pod on an unknown node is ignored."""
        node_info = self.node_infos.get(node)
        if node_info is not None and pod.uid not in node_info.pods:
            node_info.add(pod)
            if pod.spec.affinity and pod.affinity_terms("podAntiAffinity", "required"):
                self.anti_affinity_pods[pod.uid] = (pod, node_info)

    def remove_pod(self, pod: PodInfo, node: str) -> None:
        node_info = self.node_infos.get(node)
        if node_info is not None and pod.uid in node_info.pods:
            node_info.remove(pod)
            self.anti_affinity_pods.pop(pod.uid, None)

    def pods(self) -> Iterator[tuple[PodInfo, NodeInfo]]:
        for node_info in self.node_infos.values():
            for pod in node_info.pods.values():
                yield pod, node_info
