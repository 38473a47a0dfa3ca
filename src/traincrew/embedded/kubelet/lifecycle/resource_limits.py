"""The cgroup limits of a container and of its pod: CPU shares, CPU quota and memory, as the kubelet computes them."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import pod_resources, quantities
from traincrew.embedded.kubelet.lifecycle import qos
from traincrew.embedded.kubelet.lifecycle.pod import Object
from traincrew.embedded.kubelet.runtime.spec import Limits

_MIN_SHARES, _MAX_SHARES, _SHARES_PER_CORE = 2, 262144, 1024
_MIN_QUOTA = 0.01
"""Cores: 1 ms in each period of 100 ms."""


def of_container(pod: Object, container: Object, pids: int = 0) -> Limits:
    """A container without a limit has the limit of the pod."""
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    shared = ((pod.get("spec") or {}).get("resources") or {}).get("limits") or {}
    cpu = _milli(limits.get("cpu")) or _milli(shared.get("cpu"))
    # A missing request equals the limit. A request of 0 does not.
    requested = _milli(requests["cpu"]) if "cpu" in requests else cpu
    memory = _bytes(limits.get("memory")) or _bytes(shared.get("memory"))
    return Limits(_shares(requested), _quota(cpu), memory, pids)


def of_pod(pod: Object, pids: int = 0) -> Limits:
    """A container without a limit leaves the pod without a limit."""
    spec = _with_resources(pod.get("spec") or {})
    if qos.qos_class(pod) == "BestEffort":
        return Limits(_MIN_SHARES, 0.0, 0, pids)
    pod_level = spec.get("resources") or {}
    requests = {**pod_resources.requests(spec), **(pod_level.get("requests") or {})}
    limits = {**pod_resources.limits(spec), **(pod_level.get("limits") or {})}
    cpu = _milli(limits.get("cpu")) if _limits_all_containers(spec, "cpu") else 0
    memory = _bytes(limits.get("memory")) if _limits_all_containers(spec, "memory") else 0
    return Limits(_shares(_milli(requests.get("cpu"))), _quota(cpu), memory, pids)


def _with_resources(spec: Object) -> dict[str, Any]:
    lists = {
        field: [{**each, "resources": each.get("resources") or {}} for each in spec.get(field) or ()]
        for field in ("containers", "initContainers")
    }
    return {**spec, **lists}


def _limits_all_containers(spec: Object, name: str) -> bool:
    if _nanos(((spec.get("resources") or {}).get("limits") or {}).get(name)):
        return True
    return all(
        _nanos((each["resources"].get("limits") or {}).get(name)) for each in (*spec["containers"], *spec["initContainers"])
    )


def _shares(milli: int) -> int:
    return min(max(milli * _SHARES_PER_CORE // 1000, _MIN_SHARES), _MAX_SHARES)


def _quota(milli: int) -> float:
    return max(milli / 1000, _MIN_QUOTA) if milli else 0.0


def _nanos(value: quantities.Text | None) -> int:
    return quantities.nanos(value) if value is not None and quantities.is_quantity(value) else 0


def _milli(value: quantities.Text | None) -> int:
    return quantities.scaled_value(_nanos(value), 10**6)


def _bytes(value: quantities.Text | None) -> int:
    return quantities.value(value) if value is not None and quantities.is_quantity(value) else 0
