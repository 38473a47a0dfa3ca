"""Resource usage: measurements of metrics.k8s.io, and the series of a replica."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from traincrew.apimachinery import quantities
from traincrew.console.contract.metrics import UsageSeries
from traincrew.console.view.pods import Amount, ShownPod
from traincrew.console.view.points import Counted, Points
from traincrew.console.view.prometheus_queries import PodSample
from traincrew.inspection import observed_job
from traincrew.model.lenient_decoding import LenientDecoder
from traincrew.model.meta import Meta, Struct, Time

T = TypeVar("T")
UNKNOWN = PodSample()


class _ContainerUsage(Struct, gc=False):
    usage: dict[str, Amount] = {}


class Measured(Struct):
    """PodMetrics, or NodeMetrics."""

    metadata: Meta
    timestamp: Time | None = None
    containers: list[_ContainerUsage] = []
    usage: dict[str, Amount] = {}


class Used(NamedTuple):
    """None: it is not measured."""

    cpu: float | None
    """Cores."""
    memory: int | None
    """Bytes."""
    received: float | None = None
    """Bytes a second."""
    sent: float | None = None
    gpu: float | None = None
    """From 0 to 1."""
    gpu_memory: int | None = None
    """Bytes."""


_decoder: LenientDecoder[Measured] = LenientDecoder(Measured)


def decode(raw: bytes) -> Measured:
    return _decoder.decode(raw)[0]


def used(measured: Measured) -> Used:
    """Of all containers, or of the node."""
    parts = [each.usage for each in measured.containers] or [measured.usage]
    return Used(_cores(part.get("cpu") for part in parts), _bytes(part.get("memory") for part in parts))


def _cores(amounts: Iterable[Amount | None]) -> float:
    return sum(quantities.nanos(each) for each in amounts if each is not None and quantities.is_quantity(each)) / 1e9


def _bytes(amounts: Iterable[Amount | None]) -> int:
    return sum(quantities.value(each) for each in amounts if each is not None and quantities.is_quantity(each))


@dataclasses.dataclass
class PodUsage:
    """The samples of the pods of one name."""

    pod: str
    points: Points[Used]
    latest: int = 0

    def add(self, measured: Measured, sample: PodSample = UNKNOWN) -> None:
        """sample: of Prometheus. CPU and memory of the metrics server are newer."""
        time = int(measured.timestamp.timestamp() * 1000) if measured.timestamp is not None else 0
        self.add_at(time, with_sample(used(measured), sample))

    def add_at(self, time: int, found: Used) -> None:
        """A measurement that is known already is ignored: metrics servers measure less often than they are asked."""
        if time > self.latest:
            self.latest = time
            self.points.add(time, found)

    def fill(self, samples: Iterable[tuple[int, Used]]) -> None:
        """Add what was measured at other times. A page gets the whole series again: points come between those that it has."""
        known = dict(zip(self.points.times, self.points.values, strict=True))
        found = dict(samples)
        if not found.keys() - known.keys():
            return
        filled = Points[Used](self.points.limit, thinned=self.points.thinned + 1)
        for time, each in sorted((found | known).items()):
            filled.add(time, each)
        self.points, self.latest = filled, max(self.latest, *found)


def with_sample(found: Used, sample: PodSample) -> Used:
    memory = _whole(sample.memory) if found.memory is None else found.memory
    cpu = sample.cpu if found.cpu is None else found.cpu
    return Used(cpu, memory, sample.received, sample.sent, sample.gpu, _whole(sample.gpu_memory))


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _known(values: Iterable[T | None]) -> list[T | None]:
    """Empty if nothing of it was ever measured."""
    found = list(values)
    return found if any(each is not None for each in found) else []


def series(job: str, kept: PodUsage, pod: ShownPod | None) -> Counted[UsageSeries]:
    """pod None: it is deleted."""
    containers = pod.spec.containers if pod is not None else ()
    requests, limits = [each.resources.requests for each in containers], [each.resources.limits for each in containers]
    found = UsageSeries(
        replica=observed_job.replica(job, kept.pod),
        pod=kept.pod,
        cpu_request=_cores(each.get("cpu") for each in requests) or None,
        cpu_limit=_cores(each.get("cpu") for each in limits) or None,
        memory_request=_bytes(each.get("memory") for each in requests) or None,
        memory_limit=_bytes(each.get("memory") for each in limits) or None,
        times=list(kept.points.times),
        cpu=[each.cpu for each in kept.points.values],
        memory=[each.memory for each in kept.points.values],
        network_received=_known(each.received for each in kept.points.values),
        network_sent=_known(each.sent for each in kept.points.values),
        gpu=_known(each.gpu for each in kept.points.values),
        gpu_memory=_known(each.gpu_memory for each in kept.points.values),
    )
    return Counted(found, kept.points.thinned)
