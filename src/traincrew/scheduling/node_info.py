"""A node with its pods and its free resources during one scheduling cycle."""

from __future__ import annotations

from collections.abc import Container

from traincrew.scheduling import node_affinity, resource_requests
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo

DEFAULT_REQUESTS = {"cpu": 100, "memory": 200 * 2**20}
"""Counted for a pod without requests when nodes are scored. Without it all such pods would be bound to one node."""
ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - how the API writes all addresses


class NodeInfo:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.allocatable = resource_requests.parse(node.status.allocatable)
        self.free = dict(self.allocatable)
        self.max_pods = self.allocatable.get("pods", 0)
        self.taints = node_affinity.effective_taints(node)
        self.pods: dict[str, PodInfo] = {}
        self._pods_without = dict.fromkeys(DEFAULT_REQUESTS, 0)
        """How many pods do not request a resource."""
        self._ports: dict[tuple[str, int], dict[str, int]] = {}
        """How many pods use an address, by protocol and number of the host port."""

    def add(self, pod: PodInfo) -> None:
        requests, free = pod.requests, self.free
        self.pods[pod.metadata.uid] = pod
        for name in DEFAULT_REQUESTS:
            if name not in requests:
                self._pods_without[name] += 1
        for name, value in requests.items():
            free[name] = free.get(name, 0) - value
        for address, protocol, number in pod.ports:
            used = self._ports.setdefault((protocol, number), {})
            used[address] = used.get(address, 0) + 1

    def remove(self, pod: PodInfo) -> None:
        del self.pods[pod.uid]
        for name in DEFAULT_REQUESTS:
            if name not in pod.requests:
                self._pods_without[name] -= 1
        for name, value in pod.requests.items():
            self.free[name] += value
        for address, protocol, number in pod.ports:
            used = self._ports[protocol, number]
            used[address] -= 1
            if not used[address]:
                del used[address]

    def non_zero_requests(self, name: str) -> int:
        """The sum over the pods, with the default amount for those that request nothing."""
        used = self.allocatable.get(name, 0) - self.free.get(name, 0)
        return used + DEFAULT_REQUESTS[name] * self._pods_without[name]

    def insufficient_resources(self, pod: PodInfo, overcommitted: Container[str]) -> list[str]:
        """The names of insufficient resources; `pods` first."""
        names = ["pods"] if len(self.pods) >= self.max_pods else []
        free = self.free
        names += [name for name, value in pod.requests.items() if value > free.get(name, 0) and name not in overcommitted]
        return names

    def has_port_conflict(self, pod: PodInfo) -> bool:
        return any(self._is_used(*port) for port in pod.ports)

    def _is_used(self, address: str, protocol: str, number: int) -> bool:
        used = self._ports.get((protocol, number)) or {}
        return bool(used) and (address == ALL_ADDRESSES or address in used or ALL_ADDRESSES in used)
