"""The addresses of this node's pods. What is in use is on the disk, with the pods."""

from __future__ import annotations

import collections
import pathlib

from traincrew.embedded.kubelet.network import addresses
from traincrew.embedded.kubelet.pods import state_directory

RECENT = 256
"""How many addresses rest before they are given out again."""


class AddressPool:
    def __init__(self, subnet: addresses.Subnet, pods: pathlib.Path) -> None:
        self._subnet = subnet
        identities = (each.identity() for each in state_directory.list_all(pods))
        self._taken = {each.address for each in identities if each is not None and each.address}
        self._recent: collections.deque[str] = collections.deque(maxlen=RECENT)

    def take(self) -> str:
        """Raises NoAddress."""
        found = addresses.allocate(self._subnet, self._taken, tuple(self._recent))
        self._taken.add(found)
        return found

    def give_back(self, address: str) -> None:
        self._taken.discard(address)
        if address and address not in self._recent:
            self._recent.append(address)
