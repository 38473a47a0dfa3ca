"""A node with its pods and its free resources during one scheduling cycle."""

from __future__ import annotations

from collections.abc import Container

from traincrew.scheduling import node_affinity, resource_requests
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import HostPort, PodInfo

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
        self._ports: dict[HostPort, int] = {}

    def add(self, pod: PodInfo) -> None:
        requests, free = pod.requests, self.free
        self.pods[pod.metadata.uid] = pod
        for name in DEFAULT_REQUESTS:
            if name not in requests:
                self._pods_without[name] += 1
        for name, value in requests.items():
            free[name] = free.get(name, 0) - value
        for port in pod.ports:
            self._ports[port] = self._ports.get(port, 0) + 1

    def remove(self, pod: PodInfo) -> None:
        del self.pods[pod.uid]
        for name in DEFAULT_REQUESTS:
            if name not in pod.requests:
                self._pods_without[name] -= 1
        for name, value in pod.requests.items():
            self.free[name] += value
        for port in pod.ports:
            self._ports[port] -= 1
            if not self._ports[port]:
                del self._ports[port]

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
        return any(_conflict(port, used) for port in pod.ports for used in self._ports)


def _conflict(one: HostPort, other: HostPort) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or ALL_ADDRESSES in (one[0], other[0]))
