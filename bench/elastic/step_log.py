"""Steps of elastic programs with the times at which their lines were logged."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.seeds.clusters import Cluster

from bench.elastic import waiting
from traincrew.client import pod_logs

_STEP = re.compile(rb"rank=\d+ world=(\d+) host=(\S+) (?:batch|step)=(\d+) ")


class Step(NamedTuple):
    at: float
    """Seconds since 1970."""
    world: int
    host: str
    number: int


def read(cluster: Cluster, pod: str) -> list[Step]:
    """All steps in the log of a pod, or none if it has no log yet."""
    path = cluster.api.path("pods", "default", pod, "log")
    response = cluster.api.session.get(f"{cluster.api.server}{path}?timestamps=true", timeout=60)
    return [] if response.status_code != 200 else _parse(response.content)


def _parse(log: bytes) -> list[Step]:
    found = []
    for raw in log.splitlines():
        line = pod_logs.parse(raw)
        if step := _STEP.search(line.text):
            found.append(Step(line.nanoseconds / pod_logs.NANO, int(step[1]), step[2].decode(), int(step[3])))
    return found


def first(cluster: Cluster, pod: str, *, world: int, host: str, after: float) -> Step:
    """Wait for the first step of a worker in a ring of this size, logged after this moment."""
    return _first(cluster, pod, after, lambda step: (step.world, step.host) == (world, host))


def first_without(cluster: Cluster, pod: str, worker: str, *, after: float) -> Step:
    """Wait for the first step of a ring that the worker has left: nobody else has its host then, or there is one rank less."""
    others = {step.host for step in read(cluster, pod)} | {worker}
    size = max(step.world for step in read(cluster, pod))
    return _first(cluster, pod, after, lambda step: step.world < size or step.host not in others)


def _first(cluster: Cluster, pod: str, after: float, matches: Callable[[Step], bool]) -> Step:
    found: list[Step] = []

    def read_all() -> bool:
        found[:] = [step for step in read(cluster, pod) if step.at > after and matches(step)]
        return bool(found)

    waiting.until(read_all)
    return found[0]


def lost(steps: list[Step], since: float) -> int:
    """By how many steps the job fell back after this moment; printed steps only."""
    furthest, fell = 0, 0
    for step in sorted(steps):
        if step.at > since:
            fell = max(fell, furthest - step.number)
        furthest = max(furthest, step.number)
    return fell
