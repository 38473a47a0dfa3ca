"""What a pod asks of a node: cpu in thousandths, everything else whole, rounded up as the Go type's Value() does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traincrew.apimachinery import quantities
from traincrew.scheduling.objects import Container, PodSpec

Amounts = dict[str, int]


def read(listed: Mapping[str, quantities.Text]) -> Amounts:
    """A list of resources as numbers; what is no quantity counts as nothing (the API server lets none in)."""
    return {name: amount(name, value) for name, value in listed.items() if quantities.is_quantity(value)}


def amount(name: str, value: quantities.Text) -> int:
    return quantities.milli_value(value) if name == "cpu" else quantities.value(value)


def add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def of_pod(spec: PodSpec) -> Amounts:
    """The most that it needs at any one time: init containers run one after the other, sidecars beside all that follow."""
    running: Amounts = {}
    for container in spec.containers:
        add(running, _asked(container))
    beside: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        asked = _asked(container)
        if container.restart_policy == "Always":
            add(beside, asked)
            _raise(peak, beside)
        else:
            add(asked, beside)
            _raise(peak, asked)
    add(running, beside)
    _raise(running, peak)
    for name, value in read(spec.resources.requests or {}).items():
        running[name] = value
    add(running, read(spec.overhead))
    return {name: value for name, value in running.items() if value > 0}


def most(rooms: Iterable[Mapping[str, int]]) -> Amounts:
    """What the largest of them has, each resource by itself."""
    found: Amounts = {}
    for each in rooms:
        _raise(found, each)
    return found


def total(pods: Iterable[Mapping[str, int]]) -> Amounts:
    found: Amounts = {}
    for each in pods:
        add(found, each)
    return found


def _asked(container: Container) -> Amounts:
    return read(container.resources.requests or {})


def _raise(peak: Amounts, to: Mapping[str, int]) -> None:
    for name, value in to.items():
        peak[name] = max(peak.get(name, 0), value)
