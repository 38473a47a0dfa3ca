"""The QoS class of a pod, and its total requests and limits."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery import quantities
from traincrew.apimachinery.unstructured import Object

_COUNTED = ("cpu", "memory")


def qos_class(spec: Object) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources")
        if not resources:
            guaranteed = False
            continue
        _count(requests, resources.get("requests"))
        guaranteed = _count(limits, resources.get("limits")) == 2 and guaranteed
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _count(totals: dict[str, int], resources: dict[str, str] | None) -> int:
    counted = 0
    for name in _COUNTED if resources else ():
        assert resources is not None
        if name in resources and (amount := quantities.nanos(resources[name])) > 0:
            totals[name] = totals.get(name, 0) + amount
            counted += 1
    return counted


def requests(spec: Object) -> dict[str, str]:
    return _pod_total(spec, "requests")


def limits(spec: Object) -> dict[str, str]:
    return _pod_total(spec, "limits")


def _pod_total(spec: Object, side: str) -> dict[str, str]:
    """Containers run together, init containers one after another, sidecars together with all later containers."""
    together = _sum(container["resources"].get(side) or {} for container in spec.get("containers") or ())
    sidecars: dict[str, str] = {}
    starting: dict[str, str] = {}
    for container in spec.get("initContainers") or ():
        mine = container["resources"].get(side) or {}
        if container.get("restartPolicy") == "Always":
            together, sidecars = _sum((together, mine)), _sum((sidecars, mine))
            starting = _maximum(starting, sidecars)
        else:
            starting = _maximum(starting, _sum((mine, sidecars)))
    total = _maximum(together, starting)
    overhead = spec.get("overhead")
    if overhead and side == "requests":
        return _sum((total, overhead))
    return (
        {name: quantities.add([value, overhead[name]]) if name in overhead else value for name, value in total.items()}
        if overhead
        else total
    )


def _sum(lists: Iterable[dict[str, str]]) -> dict[str, str]:
    total: dict[str, str] = {}
    for each in lists:
        for name, value in each.items():
            total[name] = quantities.add([total[name], value]) if name in total else value
    return total


def _maximum(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    most = dict(one)
    for name, value in other.items():
        if name not in most or quantities.nanos(value) > quantities.nanos(most[name]):
            most[name] = value
    return most
