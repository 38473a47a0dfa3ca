"""Where metrics.k8s.io gets its figures: the usage of pods and nodes, measured by whoever runs the pods."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Usage(NamedTuple):
    cpu: float
    """Cores, on the average of the measurement's window."""
    memory: int
    """Bytes that cannot be taken away without harm: the working set."""


class PodUsage(NamedTuple):
    namespace: str
    name: str
    containers: Mapping[str, Usage]


class Measurement(NamedTuple):
    taken: dt.datetime
    window: dt.timedelta
    pods: Sequence[PodUsage] = ()
    nodes: Mapping[str, Usage] = {}


class MetricsSource(Protocol):
    """Whoever runs the pods. Asked anew for every request: it may answer with its latest measurement."""

    async def __call__(self) -> Measurement: ...
