"""Allocation of cluster IPs and node ports. The existing Services determine which are allocated."""

from __future__ import annotations

import ipaddress

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.storage.store import Store

RANGE = ipaddress.ip_network("10.96.0.0/12")
PORTS = range(30000, 32768)


class _Port(msgspec.Struct, rename="camel"):
    node_port: int = 0


class _Spec(msgspec.Struct, rename={"cluster_ips": "clusterIPs"}):
    cluster_ips: list[str] | None = None
    ports: list[_Port] | None = None


class _Service(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_decode = msgspec.json.Decoder(_Service).decode


class ServiceAllocator:
    """Reads the Services on first use: most writes need no address."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cached: tuple[set[str], set[int]] | None = None
        self._next_port = PORTS.start
        """Those before it are allocated."""

    def _allocated(self) -> tuple[set[str], set[int]]:
        if self._cached is None:
            specs = [_decode(record.value).spec for record in self._store.list("services")]
            addresses = {each for spec in specs for each in spec.cluster_ips or () if each != "None"}
            self._cached = addresses, {port.node_port for spec in specs for port in spec.ports or ()}
        return self._cached

    def ip_in_use(self, address: str) -> bool:
        return address in self._allocated()[0]

    def port_in_use(self, port: int) -> bool:
        return port in self._allocated()[1]

    def allocate_ip(self) -> str:
        """The first free address. As in kube-apiserver, the first 255 are reserved for requests of a particular address."""
        allocated = self._allocated()[0]
        for number in range(256, RANGE.num_addresses - 1):
            if (address := str(RANGE[number])) not in allocated:
                allocated.add(address)
                return address
        raise _full("failed to allocate a serviceIP: range is full")

    def allocate_port(self) -> int:
        allocated = self._allocated()[1]
        for port in range(self._next_port, PORTS.stop):
            if port not in allocated:
                allocated.add(port)
                self._next_port = port + 1
                return port
        raise _full("failed to allocate a nodePort: range is full")


def _full(message: str) -> api_errors.StatusError:
    """A real API server responds with 500."""
    return api_errors.StatusError(422, "Invalid", message)
