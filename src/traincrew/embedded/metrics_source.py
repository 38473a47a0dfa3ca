"""What the node has measured, for metrics.k8s.io."""

from __future__ import annotations

import datetime as dt

from traincrew.client import clock
from traincrew.embedded.apiserver.requests.metrics_source import Measurement, MetricsSource, PodUsage, Usage
from traincrew.embedded.kubelet.stats.collector import StatsCollector


def by(meter: StatsCollector, node: str) -> MetricsSource:
    async def latest() -> Measurement:
        found = meter.rates
        if found is None:
            return Measurement(clock.now(), dt.timedelta())
        pods = [
            PodUsage(namespace, name, {each: Usage(rate.cores, rate.memory) for each, rate in containers.items()})
            for (namespace, name), containers in found.pods.items()
        ]
        return Measurement(found.taken, found.window, pods, {node: Usage(found.node.cores, found.node.memory)})

    return latest
