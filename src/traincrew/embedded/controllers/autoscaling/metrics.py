"""The number of replicas that brings the usage of pods to its target."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from traincrew.apimachinery import durations, quantities, times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.pods import Pod

TOLERANCE = 0.1
"""A ratio of usage to target within this tolerance changes nothing."""
INITIALIZATION = dt.timedelta(minutes=5)
"""Time after the start of a pod in which its CPU usage counts only while it is ready."""
FIRST_READINESS = dt.timedelta(seconds=30)


class Unknown(Exception):
    """The metric cannot be computed; the message says why."""


class PodMetric(NamedTuple):
    value: int
    """In thousandths."""
    time: dt.datetime
    window: dt.timedelta


class Proposal(NamedTuple):
    replicas: int
    value: int
    """The average usage, in thousandths."""
    utilization: int | None = None
    """The usage in percent of the requests."""


@dataclasses.dataclass(frozen=True)
class ResourceMetrics:
    pods: Sequence[Pod]
    metrics: Mapping[str, PodMetric]
    resource: str
    current: int
    """Replicas."""
    container: str = ""
    """Empty: all containers of the pod."""


def render(value: int) -> str:
    """Thousandths as a quantity."""
    return quantities.from_nanos(value * 10**6, quantities.DECIMAL_SI).canonical()


def read(items: Sequence[Object], resource: str, container: str) -> dict[str, PodMetric]:
    """The metrics by pod; a pod with a container without metrics is omitted."""
    metrics = {}
    for item in items:
        measured = [entry for entry in item.get("containers") or () if container in ("", entry["name"])]
        values = [entry["usage"][resource] for entry in measured if resource in (entry.get("usage") or {})]
        if measured and len(values) == len(measured):
            total = sum([quantities.milli_value(value) for value in values])
            metrics[item["metadata"]["name"]] = PodMetric(
                total, times.parse(item["timestamp"]), durations.parse(item.get("window", "0s"))
            )
    return metrics


class _Groups(NamedTuple):
    ready: int
    unready: set[str]
    missing: set[str]
    ignored: set[str]


def _grouped(measured: ResourceMetrics, now: dt.datetime) -> _Groups:
    ready, unready, missing, ignored = 0, set(), set(), set()
    for pod in measured.pods:
        name = pod.metadata.name
        if pod.deleted or pod.status.phase == "Failed":
            ignored.add(name)
        elif pod.status.phase == "Pending":
            unready.add(name)
        elif name not in measured.metrics:
            missing.add(name)
        elif measured.resource == "cpu" and _is_starting(pod, measured.metrics[name], now):
            unready.add(name)
        else:
            ready += 1
    return _Groups(ready, unready, missing, ignored)


def _is_starting(pod: Pod, metric: PodMetric, now: dt.datetime) -> bool:
    condition, start = pod.condition("Ready"), pod.status.start_time
    if condition is None or start is None:
        return True
    changed = condition.last_transition_time or dt.datetime.min.replace(tzinfo=dt.UTC)
    if start + INITIALIZATION > now:
        return condition.status == "False" or metric.time - metric.window < changed
    return condition.status == "False" and start + FIRST_READINESS > changed


def by_utilization(measured: ResourceMetrics, target: int, now: dt.datetime) -> Proposal:
    """target: in percent of the requests of the pods."""
    groups, values = _start(measured, now)
    requests = _requests(measured)
    ratio, percent, average = _utilization(values, requests, target)
    fill = {name: requests[name] * max(100, target) // 100 for name in groups.missing}
    if _direct(groups, ratio):
        replicas = measured.current if abs(1 - ratio) <= TOLERANCE else math.ceil(ratio * groups.ready)
        return Proposal(replicas, average, percent)
    values |= _assumed(groups, ratio, fill)
    again = _utilization(values, requests, target)[0]
    return Proposal(_careful(measured.current, ratio, again, len(values)), average, percent)


def by_value(measured: ResourceMetrics, target: int, now: dt.datetime) -> Proposal:
    """target: for each pod, in thousandths."""
    groups, values = _start(measured, now)
    average = sum(values.values()) // len(values)
    ratio = average / target
    if _direct(groups, ratio):
        replicas = measured.current if abs(1 - ratio) <= TOLERANCE else math.ceil(ratio * groups.ready)
        return Proposal(replicas, average)
    values |= _assumed(groups, ratio, dict.fromkeys(groups.missing, target))
    again = sum(values.values()) // len(values) / target
    return Proposal(_careful(measured.current, ratio, again, len(values)), average)


def _start(measured: ResourceMetrics, now: dt.datetime) -> tuple[_Groups, dict[str, int]]:
    if not measured.pods:
        raise Unknown("no pods returned by selector while calculating replica count")
    groups = _grouped(measured, now)
    left = {name: metric.value for name, metric in measured.metrics.items() if name not in groups.ignored | groups.unready}
    if not left:
        raise Unknown("did not receive metrics for targeted pods (pods might be unready)")
    return groups, left


def _direct(groups: _Groups, ratio: float) -> bool:
    """Whether no assumption about unmeasured pods is necessary."""
    return not groups.missing and not (groups.unready and ratio > 1)


def _assumed(groups: _Groups, ratio: float, full: Mapping[str, int]) -> dict[str, int]:
    """The assumed usage of unmeasured pods: the value that makes the change smaller."""
    assumed: dict[str, int] = {}
    if ratio < 1:
        assumed |= full
    elif ratio > 1:
        assumed |= dict.fromkeys(groups.missing, 0) | dict.fromkeys(groups.unready, 0)
    return assumed


def _careful(current: int, ratio: float, again: float, count: int) -> int:
    """An assumption may make a change smaller, but not reverse it."""
    if abs(1 - again) <= TOLERANCE or (ratio < 1 < again) or (again < 1 < ratio):
        return current
    replicas = math.ceil(again * count)
    turned = (again < 1 and replicas > current) or (again > 1 and replicas < current)
    return current if turned else replicas


def _utilization(values: Mapping[str, int], requests: Mapping[str, int], target: int) -> tuple[float, int, int]:
    known = [name for name in values if name in requests]
    used, asked = sum(values[name] for name in known), sum(requests[name] for name in known)
    if not asked:
        raise Unknown("no metrics returned matched known pods")
    percent = used * 100 // asked
    return percent / target, percent, used // len(known)


def _requests(measured: ResourceMetrics) -> dict[str, int]:
    requests, resource = {}, measured.resource
    for pod in measured.pods:
        sidecars = [spec for spec in pod.spec.init_containers if spec.restart_policy == "Always"]
        total = 0
        for spec in (*pod.spec.containers, *sidecars):
            if measured.container not in ("", spec.name):
                continue
            if resource not in spec.resources.requests:
                raise Unknown(f"missing request for {resource} in container {spec.name} of Pod {pod.metadata.name}")
            total += quantities.milli_value(spec.resources.requests[resource])
        requests[pod.metadata.name] = total
    return requests
