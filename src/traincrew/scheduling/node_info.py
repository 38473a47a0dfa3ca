"""A node and what is left of it while pods are placed."""

from __future__ import annotations

from collections.abc import Container

from traincrew.scheduling import node_affinity, resource_requests
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import HostPort, PodInfo

NOMINAL = {"cpu": 100, "memory": 200 * 2**20}
"""What a pod that asks for nothing is taken to use: else all of them would go to one node."""
ANY = "0.0.0.0"  # noqa: S104 - how the API writes all addresses


class NodeInfo:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.capacity = resource_requests.read(node.status.allocatable)
        self.free = dict(self.capacity)
        self.most_pods = self.capacity.get("pods", 0)
        self.taints = node_affinity.taints(node)
        self.pods: dict[str, PodInfo] = {}
        self.load = dict.fromkeys(NOMINAL, 0)
        self._ports: dict[HostPort, int] = {}

    def add(self, pod: PodInfo) -> None:
        self.pods[pod.uid] = pod
        for name, nominal in NOMINAL.items():
            self.load[name] += pod.wanted.get(name) or nominal
        free = self.free
        for name, value in pod.wanted.items():
            free[name] = free.get(name, 0) - value
        for port in pod.ports:
            self._ports[port] = self._ports.get(port, 0) + 1

    def remove(self, pod: PodInfo) -> None:
        del self.pods[pod.uid]
        for name, nominal in NOMINAL.items():
            self.load[name] -= pod.wanted.get(name) or nominal
        for name, value in pod.wanted.items():
            self.free[name] += value
        for port in pod.ports:
            self._ports[port] -= 1
            if not self._ports[port]:
                del self._ports[port]

    def lacks(self, pod: PodInfo, overcommitted: Container[str]) -> list[str]:
        """The names of the resources that do not suffice; `pods` first."""
        found = ["pods"] if len(self.pods) >= self.most_pods else []
        free = self.free
        found += [name for name, value in pod.wanted.items() if value > free.get(name, 0) and name not in overcommitted]
        return found

    def ports_taken(self, pod: PodInfo) -> bool:
        return any(_clash(wanted, taken) for wanted in pod.ports for taken in self._ports)


def _clash(one: HostPort, other: HostPort) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or ANY in (one[0], other[0]))
