"""What pods and the node use, read every few seconds; two readings make a rate."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from traincrew.client import clock
from traincrew.embedded.kubelet.runtime.runtime import ContainerRuntimeError, ContainerUsage
from traincrew.embedded.kubelet.server.pod_streams import ServedPod

log = logging.getLogger(__name__)

PERIOD = 5.0
"""Seconds between two readings."""
PATIENCE = 2.0
"""Seconds that a shim gets to answer: one that hangs must not keep the others' figures."""
_KIB = 1024
_BUSY = (0, 1, 2, 5, 6, 7)
"""Of the first line of /proc/stat: user, nice, system, irq, softirq, steal. Idle and waiting for disks is no use."""


class UsageSample(NamedTuple):
    cpu: float
    """Seconds of a core, since the start."""
    memory: int
    """Bytes that cannot be dropped at once."""
    moment: float
    """When, by a clock that never jumps."""
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


class StatsSample(NamedTuple):
    taken: dt.datetime
    node: UsageSample
    total: int
    """Bytes of memory that there are."""
    pods: tuple[PodUsageSample, ...]


class UsageRate(NamedTuple):
    cores: float
    memory: int


class UsageRates(NamedTuple):
    taken: dt.datetime
    window: dt.timedelta
    node: UsageRate
    pods: Mapping[tuple[str, str], Mapping[str, UsageRate]]
    """By namespace and name. A pod of which a container has just been started is left out."""


def usage_rates(before: StatsSample, after: StatsSample) -> UsageRates:
    earlier = {(pod.uid, name, each.attempt): each for pod in before.pods for name, each in pod.containers.items()}
    found = {}
    for pod in after.pods:
        pairs = {name: (earlier.get((pod.uid, name, each.attempt)), each) for name, each in pod.containers.items()}
        told = {name: _rate(first, second) for name, (first, second) in pairs.items() if first is not None}
        if told and len(told) == len(pairs):
            found[pod.namespace, pod.name] = told
    window = dt.timedelta(seconds=round(after.node.moment - before.node.moment, 3))
    return UsageRates(after.taken, window, _rate(before.node, after.node), found)


def _rate(before: UsageSample, after: UsageSample) -> UsageRate:
    seconds = after.moment - before.moment
    return UsageRate(max(0.0, after.cpu - before.cpu) / seconds if seconds > 0 else 0.0, after.memory)


class StatsCollector:
    def __init__(self, runs: Callable[[], Iterable[ServedPod]], proc: pathlib.Path = pathlib.Path("/proc")) -> None:
        self._runs, self._proc = runs, proc
        self.last: StatsSample | None = None
        self._before: StatsSample | None = None

    @property
    def rates(self) -> UsageRates | None:
        """None: nothing can be told yet."""
        return usage_rates(self._before, self.last) if self._before is not None and self.last is not None else None

    async def run(self) -> None:
        while True:
            try:
                await self.read()
            except Exception:
                # A figure that is missing must not end the node.
                log.exception("usage not read")
            await asyncio.sleep(PERIOD)

    async def read(self) -> None:
        found = await asyncio.gather(*(_of_pod(run) for run in self._runs()))
        node, total = read_machine_usage(self._proc)
        self._before = self.last
        self.last = StatsSample(clock.now(), node, total, tuple(each for each in found if each is not None))


async def _of_pod(run: ServedPod) -> PodUsageSample | None:
    if run.shim is None:
        return None
    try:
        async with asyncio.timeout(PATIENCE):
            used = await run.shim.usage()
    except (ContainerRuntimeError, TimeoutError):
        return None
    meta, moment = run.object["metadata"], time.monotonic()
    states = {each["name"]: each for each in _statuses(run)}
    containers = {name: _reading(each, states.get(name, {}), moment) for name, each in used.items()}
    started = (run.object.get("status") or {}).get("startTime", "")
    processes = sum(each.pids for each in used.values())
    return PodUsageSample(meta["namespace"], meta["name"], meta["uid"], started, containers, processes)


def _statuses(run: ServedPod) -> Iterable[dict[str, object]]:
    status = run.object.get("status") or {}
    return (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))


def _reading(used: ContainerUsage, status: Mapping[str, object], moment: float) -> UsageSample:
    state = status.get("state")
    running = state.get("running") if isinstance(state, dict) else None
    attempt = status.get("restartCount", 0)
    started = running.get("startedAt", "") if isinstance(running, dict) else ""
    return UsageSample(used.cpu_seconds, used.memory_bytes, moment, started, attempt if isinstance(attempt, int) else 0)


def read_machine_usage(proc: pathlib.Path) -> tuple[UsageSample, int]:
    """What everything on it uses, pods or not; and how much memory there is."""
    fields = (proc / "stat").read_text().partition("\n")[0].split()[1:]
    ticks = sum(int(fields[place]) for place in _BUSY if place < len(fields))
    lines = (line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
    known = {name: int(rest.split()[0]) * _KIB for name, rest in lines}
    used = known["MemTotal"] - known["MemFree"] - known.get("Inactive(file)", 0)
    return UsageSample(ticks / os.sysconf("SC_CLK_TCK"), max(0, used), time.monotonic()), known["MemTotal"]
