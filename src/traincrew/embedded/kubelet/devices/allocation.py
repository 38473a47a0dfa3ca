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
    """free: in the order in which they are given away. Raises Short. Who asks for nothing is left out."""
    found: Allocation = {}
    for resource, devices in free.items():
        asked = needed_devices(pod, resource)
        if asked > len(devices):
            raise InsufficientDevices(resource, asked, len(devices))
        for container, own in _shared_out(pod, resource, devices[:asked]):
            found.setdefault(container, {})[resource] = own
    return found


def needed_devices(pod: Mapping[str, Any], resource: str) -> int:
    """The largest number in use at a time: init containers release their devices, sidecars keep them."""
    beside = peak = 0
    for each in pod["spec"].get("initContainers") or ():
        asked = _asked(each, resource)
        peak = max(peak, beside + asked)
        beside += asked if _stays(each) else 0
    return max(peak, beside + sum(_asked(each, resource) for each in pod["spec"]["containers"]))


def _shared_out(pod: Mapping[str, Any], resource: str, devices: Sequence[str]) -> Iterable[tuple[str, tuple[str, ...]]]:
    left = tuple(devices)
    for each in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        asked = _asked(each, resource)
        if asked:
            yield each["name"], left[:asked]
        if _stays(each) or each in pod["spec"]["containers"]:
            left = left[asked:]


def _stays(container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def _asked(container: Mapping[str, Any], resource: str) -> int:
    resources = container.get("resources") or {}
    for message in ("limits", "requests"):
        if resource in (resources.get(message) or {}):
            return quantities.value(resources[message][resource])
    return 0
