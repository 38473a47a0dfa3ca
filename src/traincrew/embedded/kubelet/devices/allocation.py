"""Allocates free devices to the containers of a pod. PURE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from traincrew.apimachinery import quantities

Allocation = dict[str, dict[str, tuple[str, ...]]]
"""Device ids by container and resource."""


class InsufficientDevices(Exception):
    """There are too few free devices."""

    def __init__(self, resource: str, asked: int, free: int) -> None:
        super().__init__(
            f"Allocate failed due to requested number of devices unavailable for {resource}. "
            f"Requested: {asked}, Available: {free}, which is unexpected"
        )
        self.resource, self.asked = resource, asked


def allocate(pod: Mapping[str, Any], free: Mapping[str, Sequence[str]]) -> Allocation:
    """free: device ids by resource, in the order of allocation. Raises InsufficientDevices. Omits containers without requests."""
    allocation: Allocation = {}
    for resource, devices in free.items():
        requested = needed_devices(pod, resource)
        if requested > len(devices):
            raise InsufficientDevices(resource, requested, len(devices))
        for container, ids in _distribute(pod, resource, devices[:requested]):
            allocation.setdefault(container, {})[resource] = ids
    return allocation


def needed_devices(pod: Mapping[str, Any], resource: str) -> int:
    """The largest number in use at a time: init containers release their devices, sidecars keep them."""
    sidecars = peak = 0
    for each in pod["spec"].get("initContainers") or ():
        requested = _requested(each, resource)
        peak = max(peak, sidecars + requested)
        sidecars += requested if _is_sidecar(each) else 0
    return max(peak, sidecars + sum(_requested(each, resource) for each in pod["spec"]["containers"]))


def _distribute(pod: Mapping[str, Any], resource: str, devices: Sequence[str]) -> Iterable[tuple[str, tuple[str, ...]]]:
    left = tuple(devices)
    for each in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        requested = _requested(each, resource)
        if requested:
            yield each["name"], left[:requested]
        if _is_sidecar(each) or each in pod["spec"]["containers"]:
            left = left[requested:]


def _is_sidecar(container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def _requested(container: Mapping[str, Any], resource: str) -> int:
    resources = container.get("resources") or {}
    for message in ("limits", "requests"):
        if resource in (resources.get(message) or {}):
            return quantities.value(resources[message][resource])
    return 0
