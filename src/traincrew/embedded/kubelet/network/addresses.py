"""Which network the cluster has, and which address a pod gets. PURE"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

DEFAULT_SUBNET = "10.244.0.0/16"
_LEAST = 4
"""Routes to more than this (a VPN may split the world in two) leave no network that would not be part of them."""


class AddressesExhausted(Exception):
    """Every address of the network is in use."""


def to_int(address: str) -> int:
    """Raises ValueError if it is not four numbers with dots."""
    parts = address.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) <= 3 and int(part) < 256 for part in parts):
        raise ValueError(f"not an IPv4 address: {address!r}")
    return int.from_bytes(bytes(int(part) for part in parts), "big")


def to_text(value: int) -> str:
    return ".".join(map(str, value.to_bytes(4, "big")))


@dataclasses.dataclass(frozen=True)
class Subnet:
    network: int
    prefix: int

    @classmethod
    def parse(cls, cidr: str) -> Subnet:
        address, _, length = cidr.partition("/")
        if not (length.isascii() and length.isdigit() and 8 <= int(length) <= 28):
            raise ValueError(f"not a network of 16 to 16 million addresses: {cidr!r}")
        size = 1 << (32 - int(length))
        return cls(to_int(address) // size * size, int(length))

    def __str__(self) -> str:
        return f"{to_text(self.network)}/{self.prefix}"

    @property
    def size(self) -> int:
        return 1 << (32 - self.prefix)

    @property
    def gateway(self) -> str:
        return to_text(self.network + 1)

    @property
    def host_end(self) -> str:
        """Of the link to the host, which has the last four addresses for itself."""
        return to_text(self.network + self.size - 3)

    @property
    def cluster_end(self) -> str:
        return to_text(self.network + self.size - 2)

    @property
    def pods(self) -> range:
        return range(self.network + 2, self.network + self.size - 4)

    def __contains__(self, address: str) -> bool:
        return self.network <= to_int(address) < self.network + self.size

    def overlaps(self, network: int, prefix: int) -> bool:
        shift = 32 - min(self.prefix, prefix)
        return self.network >> shift == network >> shift


def allocate(subnet: Subnet, in_use: Collection[str], recent: Sequence[str] = ()) -> str:
    """The lowest that is free; those used recently (the latest last) only when there is no other, the oldest first.

    Whoever still talks to a pod that ended should meet nobody rather than somebody else.
    """
    taken, rested = set(in_use), set(recent)
    for value in subnet.pods:
        if (found := to_text(value)) not in taken and found not in rested:
            return found
    for found in recent:
        if found not in taken and found in subnet and to_int(found) in subnet.pods:
            return found
    raise AddressesExhausted(f"every address of {subnet} is in use")


def choose_subnet(wanted: str, routes: Iterable[tuple[int, int]]) -> Subnet:
    """wanted, or one of the same size nearby that none of the host's routes (network, prefix) leads to."""
    first = Subnet.parse(wanted)
    taken = [(network, prefix) for network, prefix in routes if prefix >= _LEAST]
    for candidate in _candidates(first):
        if not any(candidate.overlaps(network, prefix) for network, prefix in taken):
            return candidate
    return first


def _candidates(first: Subnet) -> Iterable[Subnet]:
    """Never within 10.96.0.0/12, where Services have their addresses."""
    yield first
    services = (to_int("10.96.0.0"), 12)
    for low, high in (("10.0.0.0", "10.255.255.255"), ("172.16.0.0", "172.31.255.255"), ("192.168.0.0", "192.168.255.255")):
        start, end = to_int(low), to_int(high)
        for network in range(end // first.size * first.size, start - 1, -max(first.size, 1 << 16)):
            found = Subnet(network, first.prefix)
            if network + first.size - 1 <= end and not found.overlaps(*services):
                yield found


def mac_address(address: str) -> str:
    """A pod's link address follows from its IP: whoever gets that next has it too, so that no neighbour's table is stale."""
    return "0a:58:" + ":".join(f"{byte:02x}" for byte in to_int(address).to_bytes(4, "big"))
