"""The source of metrics.k8s.io: the kubelet's measurements."""

from __future__ import annotations

import datetime as dt

from traincrew.client import clock
from traincrew.embedded.apiserver.requests.metrics_source import Measurement, MetricsSource, PodUsage, Usage
from traincrew.embedded.kubelet.stats.collector import StatsCollector


def from_collector(collector: StatsCollector, node: str) -> MetricsSource:
    async def latest() -> Measurement:
        rates = collector.rates
        if rates is None:
            return Measurement(clock.now(), dt.timedelta())
        pods = [
            PodUsage(namespace, name, {each: Usage(rate.cores, rate.memory) for each, rate in containers.items()})
            for (namespace, name), containers in rates.pods.items()
        ]
        return Measurement(rates.taken, rates.window, pods, {node: Usage(rates.node.cores, rates.node.memory)})

    return latest
