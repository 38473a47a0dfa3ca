"""Allocation of free devices to containers."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.embedded.kubelet.devices.allocation import InsufficientDevices, allocate, needed_devices

GPU = "nvidia.com/gpu"
FREE = {GPU: ["a", "b", "c", "d"]}


def container(name: str, count: int, **more: Any) -> dict[str, Any]:
    return {"name": name, **({"resources": {"limits": {GPU: str(count)}}} if count else {}), **more}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), "initContainers": list(init)}}


def test_no_two_containers_have_the_same_device() -> None:
    allocation = allocate(pod(container("one", 1), container("none", 0), container("two", 2)), FREE)
    assert allocation == {"one": {GPU: ("a",)}, "two": {GPU: ("b", "c")}}


def test_init_containers_release_their_devices_and_sidecars_keep_theirs() -> None:
    sidecar = container("side", 1, restartPolicy="Always")
    allocation = allocate(pod(container("main", 1), init=(container("before", 2), sidecar, container("after", 2))), FREE)
    assert needed_devices(pod(container("main", 1), init=(container("before", 2), sidecar, container("after", 2))), GPU) == 3
    assert allocation["side"][GPU] == ("a",)
    assert allocation["main"][GPU] == ("b",)
    assert allocation["after"][GPU] == ("b", "c")
    assert allocation["before"][GPU] == ("a", "b")


def test_too_few_free_devices_are_an_error() -> None:
    with pytest.raises(InsufficientDevices, match=r"unavailable for nvidia\.com/gpu\. Requested: 5, Available: 4"):
        allocate(pod(container("one", 2), container("two", 3)), FREE)


def test_containers_without_requests_are_omitted() -> None:
    assert allocate(pod(container("main", 0)), FREE) == {}
    assert allocate(pod(container("main", 1)), {}) == {}
