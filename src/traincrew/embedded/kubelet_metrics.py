"""The source of metrics.k8s.io: the kubelet's measurements."""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times
from traincrew.client import clock
from traincrew.embedded.apiserver.requests.metrics_source import Measurement, MetricsSource, PodMetrics, Usage
from traincrew.embedded.kubelet.stats.activity import PodActivity
from traincrew.embedded.kubelet.stats.collector import StatsCollector
from traincrew.model import pod_activity


def _annotations(activity: PodActivity | None) -> dict[str, str]:
    """What `traincrew why` reads to find replicas that hang. Other metrics servers do not report it."""
    if activity is None:
        return {}
    reported = {pod_activity.LAST_OUTPUT: times.rfc3339(activity.last_output) if activity.last_output is not None else ""}
    return reported if activity.connections is None else {**reported, pod_activity.CONNECTIONS: str(activity.connections)}


def from_collector(collector: StatsCollector, node: str) -> MetricsSource:
    async def latest() -> Measurement:
        rates = collector.rates
        if rates is None:
            return Measurement(clock.now(), dt.timedelta())
        pods = [
            PodMetrics(
                *key,
                {each: Usage(rate.cores, rate.memory) for each, rate in containers.items()},
                _annotations(collector.activities.get(key)),
            )
            for key, containers in rates.pods.items()
        ]
        return Measurement(rates.taken, rates.window, pods, {node: Usage(rates.node.cores, rates.node.memory)})

    return latest
