"""Who has which device. What is given away is on the disk, with the pod that has it."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from traincrew.embedded.kubelet.devices import allocation
from traincrew.embedded.kubelet.devices.allocation import Allocation
from traincrew.embedded.kubelet.devices.inventory import GPU, Inventory
from traincrew.embedded.kubelet.pods import state_directory
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory


class DevicesExceedCapacity(Exception):
    """The machine has too few, whoever has them now."""


class DeviceAssignments:
    def __init__(self, inventory: Inventory, pods: pathlib.Path) -> None:
        self.inventory = inventory
        self._taken: dict[str, Allocation] = {}
        for each in state_directory.list_all(pods):
            if not each.ended() and (found := each.devices()):
                self._taken[each.uid] = found

    def take(self, pod: Mapping[str, Any], book: PodStateDirectory) -> None:
        """Written down when this returns; taken already: as it was. Raises Short (for now) or Impossible (for ever)."""
        units = {name: [each.id for each in devices] for name, devices in self.inventory.devices.items()}
        for name, ids in units.items():
            if (asked := allocation.needed_devices(pod, name)) > len(ids):
                raise DevicesExceedCapacity(str(allocation.InsufficientDevices(name, asked, len(ids))))
        if book.uid in self._taken:
            return
        free = {name: [each for each in ids if each not in self._in_use(name)] for name, ids in units.items()}
        found = allocation.allocate(pod, free)
        if found:
            book.assign(found)
            self._taken[book.uid] = found

    def _in_use(self, resource: str) -> set[str]:
        given = (each.get(resource, ()) for held in self._taken.values() for each in held.values())
        return {device for ids in given for device in ids}

    def give_back(self, uid: str) -> None:
        self._taken.pop(uid, None)

    def of(self, book: PodStateDirectory, container: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Device files and variables of a container."""
        if not self.inventory.devices:
            return (), {}
        own = (book.devices() or {}).get(container, {})
        files = [file for name, ids in own.items() for file in self.inventory.files(name, ids)]
        ids = ",".join(own.get(GPU, ()))
        return tuple(dict.fromkeys(files)), {"NVIDIA_VISIBLE_DEVICES": ids or "void", "CUDA_VISIBLE_DEVICES": ids}
