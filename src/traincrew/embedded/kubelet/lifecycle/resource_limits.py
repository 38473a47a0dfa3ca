"""What cgroups are to hold a container, and its pod as a whole, to: shares, quota and memory as a kubelet computes them."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import pod_resources, quantities
from traincrew.embedded.kubelet.lifecycle import qos
from traincrew.embedded.kubelet.lifecycle.pod import Object
from traincrew.embedded.kubelet.runtime.spec import Limits

_LEAST_SHARES, _MOST_SHARES, _SHARES_PER_CORE = 2, 262144, 1024
_LEAST_QUOTA = 0.01
"""Cores: a thousandth of a second in each tenth."""


def of_container(pod: Object, container: Object, pids: int = 0) -> Limits:
    """A limit of the whole pod stands in where the container has none of its own."""
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    shared = ((pod.get("spec") or {}).get("resources") or {}).get("limits") or {}
    cpu = _milli(limits.get("cpu")) or _milli(shared.get("cpu"))
    # A request is the limit unless it says otherwise; that of 0 says otherwise.
    asked = _milli(requests["cpu"]) if "cpu" in requests else cpu
    memory = _bytes(limits.get("memory")) or _bytes(shared.get("memory"))
    return Limits(_shares(asked), _quota(cpu), memory, pids)


def of_pod(pod: Object, pids: int = 0) -> Limits:
    """Containers without a limit leave the pod without one."""
    spec = _whole(pod.get("spec") or {})
    if qos.class_of(pod) == "BestEffort":
        return Limits(_LEAST_SHARES, 0.0, 0, pids)
    own = spec.get("resources") or {}
    requests = {**pod_resources.requests(spec), **(own.get("requests") or {})}
    limits = {**pod_resources.limits(spec), **(own.get("limits") or {})}
    cpu = _milli(limits.get("cpu")) if _declared(spec, "cpu") else 0
    memory = _bytes(limits.get("memory")) if _declared(spec, "memory") else 0
    return Limits(_shares(_milli(requests.get("cpu"))), _quota(cpu), memory, pids)


def _whole(spec: Object) -> dict[str, Any]:
    lists = {
        field: [{**each, "resources": each.get("resources") or {}} for each in spec.get(field) or ()]
        for field in ("containers", "initContainers")
    }
    return {**spec, **lists}


def _declared(spec: Object, name: str) -> bool:
    if _nanos(((spec.get("resources") or {}).get("limits") or {}).get(name)):
        return True
    return all(
        _nanos((each["resources"].get("limits") or {}).get(name)) for each in (*spec["containers"], *spec["initContainers"])
    )


def _shares(milli: int) -> int:
    return min(max(milli * _SHARES_PER_CORE // 1000, _LEAST_SHARES), _MOST_SHARES)


def _quota(milli: int) -> float:
    return max(milli / 1000, _LEAST_QUOTA) if milli else 0.0


def _nanos(value: quantities.Text | None) -> int:
    return quantities.nanos(value) if value is not None and quantities.is_quantity(value) else 0


def _milli(value: quantities.Text | None) -> int:
    return quantities.scaled_value(_nanos(value), 10**6)


def _bytes(value: quantities.Text | None) -> int:
    return quantities.value(value) if value is not None and quantities.is_quantity(value) else 0
