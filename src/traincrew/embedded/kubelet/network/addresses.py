"""IP address management: the cluster's subnet and the addresses of pods. PURE"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

DEFAULT_SUBNET = "10.244.0.0/16"
_MIN_PREFIX = 4
"""Routes with a shorter prefix (a VPN may use two halves of the internet) are ignored: every subnet overlaps them."""


class AddressesExhausted(Exception):
    """Every address of the subnet is in use."""


def to_int(address: str) -> int:
    """Raises ValueError if the text is not an IPv4 address."""
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
        """The host's end of the uplink. The uplink uses the last four addresses."""
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
    """The lowest free address. Recently used ones (the latest last) are taken only if there is no other, the oldest first.

    A client of a pod that ended must not reach another pod at the same address.
    """
    taken, resting = set(in_use), set(recent)
    for value in subnet.pods:
        if (address := to_text(value)) not in taken and address not in resting:
            return address
    for address in recent:
        if address not in taken and address in subnet and to_int(address) in subnet.pods:
            return address
    raise AddressesExhausted(f"every address of {subnet} is in use")


def choose_subnet(preferred: str, routes: Iterable[tuple[int, int]]) -> Subnet:
    """The wanted subnet, or one of the same size that overlaps none of the host's routes (network, prefix)."""
    first = Subnet.parse(preferred)
    taken = [(network, prefix) for network, prefix in routes if prefix >= _MIN_PREFIX]
    for candidate in _candidates(first):
        if not any(candidate.overlaps(network, prefix) for network, prefix in taken):
            return candidate
    return first


def _candidates(first: Subnet) -> Iterable[Subnet]:
    """Never within 10.96.0.0/12, the range of Services."""
    yield first
    services = (to_int("10.96.0.0"), 12)
    for low, high in (("10.0.0.0", "10.255.255.255"), ("172.16.0.0", "172.31.255.255"), ("192.168.0.0", "192.168.255.255")):
        start, end = to_int(low), to_int(high)
        for network in range(end // first.size * first.size, start - 1, -max(first.size, 1 << 16)):
            candidate = Subnet(network, first.prefix)
            if network + first.size - 1 <= end and not candidate.overlaps(*services):
                yield candidate


def mac_address(address: str) -> str:
    """The MAC address of a pod follows from its IP address, so that no ARP entry gets stale when the address is reused."""
    return "0a:58:" + ":".join(f"{byte:02x}" for byte in to_int(address).to_bytes(4, "big"))
