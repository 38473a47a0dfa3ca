"""The network of the pods: their addresses, their attachment and connections to them."""

from __future__ import annotations

import asyncio
import collections
import pathlib
from typing import Any

from traincrew.embedded.kubelet.network import addresses
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.embedded.kubelet.pods import state_directory
from traincrew.embedded.kubelet.pods.state_directory import SandboxRecord

RECENT = 256
"""Released addresses that are not allocated again yet."""
LOOPBACK = "127.0.0.1"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AddressPool:
    """The addresses of this node's pods. Those in use are in the pods' state directories."""

    def __init__(self, subnet: addresses.Subnet, pods: pathlib.Path) -> None:
        self._subnet = subnet
        records = (each.sandbox() for each in state_directory.list_all(pods))
        self._allocated = {each.address for each in records if each is not None and each.address}
        self._recent: collections.deque[str] = collections.deque(maxlen=RECENT)

    def allocate(self) -> str:
        """Raises AddressesExhausted."""
        address = addresses.allocate(self._subnet, self._allocated, tuple(self._recent))
        self._allocated.add(address)
        return address

    def release(self, address: str) -> None:
        self._allocated.discard(address)
        if address and address not in self._recent:
            self._recent.append(address)


class PodNetwork:
    def __init__(self, netns: NetnsClient | None, node_address: str, pods: pathlib.Path) -> None:
        """netns: None if pods share the host's network. pods: the state directories."""
        self._netns, self.node_address = netns, node_address
        self._pool = AddressPool(addresses.Subnet.parse(netns.subnet), pods) if netns is not None else None

    @property
    def gateway(self) -> str:
        return self._netns.gateway if self._netns is not None else ""

    def allocate(self, pod: dict[str, Any]) -> str:
        """Empty: the pod uses the host's network. Raises AddressesExhausted."""
        if self._pool is None or pod["spec"].get("hostNetwork"):
            return ""
        return self._pool.allocate()

    def release(self, record: SandboxRecord | None) -> None:
        if record is not None and self._pool is not None:
            self._pool.release(record.address)

    async def attach(self, pid: int, record: SandboxRecord) -> None:
        """Idempotent. Raises OSError."""
        if self._netns is not None and not record.host_network:
            await self._netns.attach(pid, record.address)

    async def detach(self, record: SandboxRecord | None) -> None:
        """Raises OSError."""
        if record is not None and record.address and self._netns is not None:
            await self._netns.detach(record.address)

    async def connect(self, host: str, port: int) -> Connection:
        """A connection from the network of the pods. Raises OSError."""
        if self._netns is None or host in (LOOPBACK, self.node_address):
            return await asyncio.open_connection(host, port)
        return await self._netns.connect(host, port)

    async def forward(self, address: str, port: int) -> Connection:
        """A connection to a port of a pod, even if the port listens on the pod's loopback only. Raises OSError."""
        if self._netns is None or address == self.node_address:
            return await asyncio.open_connection(LOOPBACK, port)
        return await self._netns.connect(LOOPBACK, port, within=address)
