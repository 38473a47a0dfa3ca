"""Collects the resource usage of the pods and of the node. Two samples give a rate."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from traincrew.client import clock
from traincrew.embedded.kubelet.runtime.runtime import ContainerRuntimeError, ContainerUsage
from traincrew.embedded.kubelet.server.pod_streams import ServedPod
from traincrew.embedded.kubelet.stats import activity
from traincrew.embedded.kubelet.stats.activity import PodActivity

log = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
SHIM_TIMEOUT_SECONDS = 2.0
"""A shim that hangs must not delay the samples of other pods."""
_KIB = 1024
_BUSY = (0, 1, 2, 5, 6, 7)
"""Columns of /proc/stat that count as usage: user, nice, system, irq, softirq and steal, but not idle and iowait."""


class UsageSample(NamedTuple):
    cpu: float
    """Core-seconds since the start."""
    memory: int
    """Bytes of the working set."""
    moment: float
    """Seconds of the monotonic clock."""
    started: str = ""
    """RFC 3339."""
    attempt: int = 0


class PodUsageSample(NamedTuple):
    namespace: str
    name: str
    uid: str
    started: str
    containers: Mapping[str, UsageSample]
    processes: int
    activity: PodActivity = PodActivity()


class StatsSample(NamedTuple):
    taken: dt.datetime
    node: UsageSample
    total: int
    """Bytes of memory of the machine."""
    pods: tuple[PodUsageSample, ...]


class UsageRate(NamedTuple):
    cores: float
    memory: int


class UsageRates(NamedTuple):
    taken: dt.datetime
    window: dt.timedelta
    node: UsageRate
    pods: Mapping[tuple[str, str], Mapping[str, UsageRate]]
    """By namespace and name. A pod with a container that has just started is left out."""


def usage_rates(before: StatsSample, after: StatsSample) -> UsageRates:
    earlier = {(pod.uid, name, each.attempt): each for pod in before.pods for name, each in pod.containers.items()}
    pods = {}
    for pod in after.pods:
        pairs = {name: (earlier.get((pod.uid, name, each.attempt)), each) for name, each in pod.containers.items()}
        containers = {name: _rate(first, second) for name, (first, second) in pairs.items() if first is not None}
        if containers and len(containers) == len(pairs):
            pods[pod.namespace, pod.name] = containers
    window = dt.timedelta(seconds=round(after.node.moment - before.node.moment, 3))
    return UsageRates(after.taken, window, _rate(before.node, after.node), pods)


def _rate(before: UsageSample, after: UsageSample) -> UsageRate:
    seconds = after.moment - before.moment
    return UsageRate(max(0.0, after.cpu - before.cpu) / seconds if seconds > 0 else 0.0, after.memory)


class StatsCollector:
    """Samples the usage of every pod and of the node periodically."""

    def __init__(
        self,
        pods: Callable[[], Iterable[ServedPod]],
        logs: pathlib.Path | None = None,
        proc: pathlib.Path = pathlib.Path("/proc"),
    ) -> None:
        """logs: the log directory. None: the last output of pods is not read."""
        self._pods, self._logs, self._proc = pods, logs, proc
        self.last: StatsSample | None = None
        self._before: StatsSample | None = None

    @property
    def activities(self) -> dict[tuple[str, str], PodActivity]:
        """By namespace and name."""
        return {(pod.namespace, pod.name): pod.activity for pod in self.last.pods} if self.last is not None else {}

    @property
    def rates(self) -> UsageRates | None:
        """None: there are fewer than two samples."""
        return usage_rates(self._before, self.last) if self._before is not None and self.last is not None else None

    async def run(self) -> None:
        while True:
            try:
                await self.sample()
            except Exception:
                # A missing sample must not stop the kubelet.
                log.exception("resource usage not sampled")
            await asyncio.sleep(PERIOD_SECONDS)

    async def sample(self) -> None:
        current = list(self._pods())
        addresses = frozenset(pod.address for pod in current if pod.address)
        pods = await asyncio.gather(*(_sample_pod(pod, self._logs, addresses) for pod in current))
        node, total = read_machine_usage(self._proc)
        self._before = self.last
        self.last = StatsSample(clock.now(), node, total, tuple(each for each in pods if each is not None))


async def _sample_pod(pod: ServedPod, logs: pathlib.Path | None, addresses: frozenset[str]) -> PodUsageSample | None:
    if pod.shim is None:
        return None
    try:
        async with asyncio.timeout(SHIM_TIMEOUT_SECONDS):
            usage = await pod.shim.usage()
            running = [each.pid for each in (await pod.shim.container_statuses()).values() if each.running]
    except (ContainerRuntimeError, TimeoutError):
        return None
    metadata, moment = pod.object["metadata"], time.monotonic()
    statuses = {each["name"]: each for each in _statuses(pod)}
    containers = {name: _container_sample(each, statuses.get(name, {}), moment) for name, each in usage.items()}
    started = (pod.object.get("status") or {}).get("startTime", "")
    processes = sum(each.pids for each in usage.values())
    connections = activity.connections(running[0], pod.address, addresses) if running else None
    seen = activity.PodActivity(activity.last_output(logs, pod.object) if logs is not None else None, connections)
    return PodUsageSample(metadata["namespace"], metadata["name"], metadata["uid"], started, containers, processes, seen)


def _statuses(pod: ServedPod) -> Iterable[dict[str, Any]]:
    status = pod.object.get("status") or {}
    return (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))


def _container_sample(usage: ContainerUsage, status: Mapping[str, object], moment: float) -> UsageSample:
    state = status.get("state")
    running = state.get("running") if isinstance(state, dict) else None
    attempt = status.get("restartCount", 0)
    started = running.get("startedAt", "") if isinstance(running, dict) else ""
    return UsageSample(usage.cpu_seconds, usage.memory_bytes, moment, started, attempt if isinstance(attempt, int) else 0)


def read_machine_usage(proc: pathlib.Path) -> tuple[UsageSample, int]:
    """The usage of all processes of the machine, and its memory in bytes."""
    fields = (proc / "stat").read_text().partition("\n")[0].split()[1:]
    ticks = sum(int(fields[column]) for column in _BUSY if column < len(fields))
    lines = (line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
    memory = {name: int(rest.split()[0]) * _KIB for name, rest in lines}
    used = memory["MemTotal"] - memory["MemFree"] - memory.get("Inactive(file)", 0)
    return UsageSample(ticks / os.sysconf("SC_CLK_TCK"), max(0, used), time.monotonic()), memory["MemTotal"]
