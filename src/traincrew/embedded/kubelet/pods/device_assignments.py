"""The devices that are assigned to pods. Assignments are in the pods' state directories."""

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
    """The machine has fewer devices than the pod requests, even if all were free."""


class DeviceAssignments:
    def __init__(self, inventory: Inventory, pods: pathlib.Path) -> None:
        self.inventory = inventory
        self._assigned: dict[str, Allocation] = {}
        for each in state_directory.list_all(pods):
            if not each.sandbox_stopped() and (devices := each.devices()):
                self._assigned[each.uid] = devices

    def assign(self, pod: Mapping[str, Any], directory: PodStateDirectory) -> None:
        """Idempotent. The assignment is on disk when this returns. Raises InsufficientDevices or DevicesExceedCapacity."""
        units = {name: [each.id for each in devices] for name, devices in self.inventory.devices.items()}
        for name, ids in units.items():
            if (requested := allocation.needed_devices(pod, name)) > len(ids):
                raise DevicesExceedCapacity(str(allocation.InsufficientDevices(name, requested, len(ids))))
        if directory.uid in self._assigned:
            return
        free = {name: [each for each in ids if each not in self._in_use(name)] for name, ids in units.items()}
        devices = allocation.allocate(pod, free)
        if devices:
            directory.write_devices(devices)
            self._assigned[directory.uid] = devices

    def _in_use(self, resource: str) -> set[str]:
        assigned = (each.get(resource, ()) for pod in self._assigned.values() for each in pod.values())
        return {device for ids in assigned for device in ids}

    def release(self, uid: str) -> None:
        self._assigned.pop(uid, None)

    def of_container(self, directory: PodStateDirectory, container: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """Device files and environment variables."""
        if not self.inventory.devices:
            return (), {}
        assigned = (directory.devices() or {}).get(container, {})
        files = [file for name, ids in assigned.items() for file in self.inventory.files(name, ids)]
        gpus = ",".join(assigned.get(GPU, ()))
        return tuple(dict.fromkeys(files)), {"NVIDIA_VISIBLE_DEVICES": gpus or "void", "CUDA_VISIBLE_DEVICES": gpus}
