"""The source of metrics.k8s.io: the usage of pods and nodes, as the kubelet measures it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Usage(NamedTuple):
    cpu: float
    """Cores, averaged over the window of the measurement."""
    memory: int
    """Bytes of the working set."""


class PodMetrics(NamedTuple):
    namespace: str
    name: str
    containers: Mapping[str, Usage]
    annotations: Mapping[str, str] = {}
    """What the node reports in addition."""


class Measurement(NamedTuple):
    taken: dt.datetime
    window: dt.timedelta
    pods: Sequence[PodMetrics] = ()
    nodes: Mapping[str, Usage] = {}


class MetricsSource(Protocol):
    """Called for every request. May return its latest measurement."""

    async def __call__(self) -> Measurement: ...
