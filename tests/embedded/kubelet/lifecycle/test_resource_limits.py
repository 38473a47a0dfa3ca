from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.kubelet.lifecycle.pods import pod

from traincrew.embedded.kubelet.lifecycle import qos, resource_limits
from traincrew.embedded.kubelet.runtime.spec import Limits


def container_with(
    name: str = "main", requests: dict[str, str] | None = None, most: dict[str, str] | None = None
) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests or {}, "limits": most or {}}}


def of_container(container: dict[str, Any]) -> Limits:
    return resource_limits.of_container(pod(container), container)


@pytest.mark.parametrize(
    ("requests", "most", "expected"),
    [
        ({}, {}, Limits(2, 0.0, 0)),
        ({"cpu": "1"}, {"cpu": "2", "memory": "128M"}, Limits(1024, 2.0, 128_000_000)),
        ({"cpu": "200m"}, {"cpu": "500m"}, Limits(204, 0.5, 0)),
        ({}, {"cpu": "500m"}, Limits(512, 0.5, 0)),
        ({"cpu": "0"}, {"cpu": "2"}, Limits(2, 2.0, 0)),
        ({"cpu": "1m"}, {"cpu": "1m"}, Limits(2, 0.01, 0)),
        ({"cpu": "1000"}, {}, Limits(262144, 0.0, 0)),
    ],
)
def test_shares_quota_and_memory_of_a_container(requests: dict[str, str], most: dict[str, str], expected: Limits) -> None:
    assert of_container(container_with("main", requests, most)) == expected


BOTH = {"cpu": "100m", "memory": "100Mi"}
MORE = {"cpu": "200m", "memory": "200Mi"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([container_with()], Limits(2, 0.0, 0)),
        ([container_with("a", BOTH)], Limits(102, 0.0, 0)),
        ([container_with("a", BOTH, MORE)], Limits(102, 0.2, 200 << 20)),
        ([container_with("a", BOTH), container_with("b", BOTH, MORE)], Limits(204, 0.0, 0)),
        ([container_with("a", BOTH, MORE), container_with("b", BOTH, MORE)], Limits(204, 0.4, 400 << 20)),
        ([container_with("a", BOTH, BOTH), container_with("b", BOTH, BOTH)], Limits(204, 0.2, 200 << 20)),
        ([container_with("a", BOTH, {"memory": "200Mi"}), container_with("b", BOTH, MORE)], Limits(204, 0.0, 400 << 20)),
    ],
)
def test_a_pod_is_limited_where_all_of_its_containers_are(containers: list[dict[str, Any]], expected: Limits) -> None:
    limited = pod(*containers, status={})
    assert resource_limits.of_pod(limited) == expected


def test_the_number_of_processes_is_passed_on() -> None:
    assert resource_limits.of_pod(pod(container_with(), status={}), 512).pids == 512
    assert resource_limits.of_container(pod(), container_with(), 64).pids == 64


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([container_with("a"), container_with("b")], "BestEffort"),
        ([container_with("a", BOTH, BOTH), container_with("b", MORE, MORE)], "Guaranteed"),
        ([container_with("a", BOTH, MORE)], "Burstable"),
        ([container_with("a", BOTH, BOTH), container_with("b")], "Burstable"),
    ],
)
def test_the_qos_class_follows_from_the_resources(containers: list[dict[str, Any]], expected: str) -> None:
    assert qos.qos_class(pod(*containers, status={})) == expected


def test_the_qos_class_in_the_status_is_used() -> None:
    assert qos.qos_class(pod(container_with("a", BOTH, BOTH), status={"qosClass": "Burstable"})) == "Burstable"
