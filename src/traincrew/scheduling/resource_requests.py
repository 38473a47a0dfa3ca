"""Resource requests of pods: cpu in MilliValue(), everything else in Value()."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from traincrew.apimachinery import quantities
from traincrew.scheduling.objects import Container, PodSpec

ResourceAmounts = dict[str, int]


def parse(resources: Mapping[str, quantities.Text]) -> ResourceAmounts:
    """Invalid quantities are ignored: the API server does not admit any."""
    return {name: amount(name, value) for name, value in resources.items() if quantities.is_quantity(value)}


@functools.lru_cache(maxsize=4096)
def amount(name: str, value: quantities.Text) -> int:
    """Thousands of nodes have the same few amounts."""
    return quantities.milli_value(value) if name == "cpu" else quantities.value(value)


def add(total: ResourceAmounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def pod_requests(spec: PodSpec) -> ResourceAmounts:
    """The peak: init containers run one after the other, sidecars together with all that follow."""
    running: ResourceAmounts = {}
    for container in spec.containers:
        add(running, _container_requests(container))
    sidecars: ResourceAmounts = {}
    peak: ResourceAmounts = {}
    for container in spec.init_containers:
        own = _container_requests(container)
        if container.restart_policy == "Always":
            add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            add(own, sidecars)
            _raise_to(peak, own)
    add(running, sidecars)
    _raise_to(running, peak)
    for name, value in parse(spec.resources.requests or {}).items():
        running[name] = value
    add(running, parse(spec.overhead))
    return {name: value for name, value in running.items() if value > 0}


def maximum(lists: Iterable[Mapping[str, int]]) -> ResourceAmounts:
    """The largest amount of each resource."""
    result: ResourceAmounts = {}
    for each in lists:
        _raise_to(result, each)
    return result


def total(lists: Iterable[Mapping[str, int]]) -> ResourceAmounts:
    result: ResourceAmounts = {}
    for each in lists:
        add(result, each)
    return result


def _container_requests(container: Container) -> ResourceAmounts:
    return parse(container.resources.requests or {})


def _raise_to(peak: ResourceAmounts, to: Mapping[str, int]) -> None:
    for name, value in to.items():
        peak[name] = max(peak.get(name, 0), value)
