"""Sends requests to an API server in this process, and measures what each costs: a program, so that it has its own limits.

python -m tests.hostile.request_costs DATA NUMBER prints a line of JSON for each case, one for NUMBER enlarged objects, and one
for each language in which NUMBER random requests are written.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.embedded.resilience import in_process_cluster, response_checks
from tests.embedded.resilience.request_generator import RawRequest
from tests.hostile import costly_definitions, costly_requests, enlarged_objects, random_requests

from traincrew.embedded import gc_tuning
from traincrew.embedded.control_plane import ControlPlane

MAX_BYTES = 100_000

CASES: tuple[Callable[[], Iterator[RawRequest]], ...] = (
    costly_requests.quantities, costly_requests.numbers, costly_requests.copies_in_a_json_patch, costly_requests.depth,
    costly_requests.yaml_documents, costly_requests.selectors, costly_requests.headers_and_parameters,
    costly_requests.lists_in_a_strategic_merge_patch, costly_requests.managed_fields, costly_requests.many_objects_in_one,
    costly_requests.aggregated_roles,
    costly_definitions.defaults, costly_definitions.columns, costly_definitions.products, costly_definitions.patterns,
    costly_definitions.lists, costly_definitions.rules, costly_definitions.depth_of_schemas,
)  # fmt: skip
ENLARGED = "enlarged objects"
RANDOM = tuple(f"random {language.__name__}" for language in random_requests.LANGUAGES)
NAMES = (ENLARGED, *(case.__name__ for case in CASES), *RANDOM)


class Cost(NamedTuple):
    """Of the requests of one case."""

    case: str
    requests: int
    problems: list[str]
    """Internal errors and exceptions."""
    cpu_seconds: float
    """Of the thread of the server, for the most expensive request."""
    mebibytes: float
    """By which the process grew at the most, for one request."""
    most_expensive: str

    def plus(self, request: str, problem: str, seconds: float, grown: float) -> Cost:
        return Cost(
            self.case,
            self.requests + 1,
            [*self.problems, *([f"{request}: {problem}"] if problem else [])],
            max(self.cpu_seconds, seconds),
            max(self.mebibytes, grown),
            request if seconds > self.cpu_seconds or grown > max(self.mebibytes, 20.0) else self.most_expensive,
        )


def memory(key: str) -> float:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def reset_peak() -> None:
    pathlib.Path("/proc/self/clear_refs").write_text("5")


class _Meter:
    def __init__(self, daemon: ControlPlane, case: str) -> None:
        self._daemon = daemon
        self.cost = Cost(case, 0, [], 0.0, 0.0, "")

    async def send(self, request: RawRequest) -> None:
        if len(request.body) + len(request.target) > MAX_BYTES:
            return
        reset_peak()
        before, started = memory("VmRSS"), time.thread_time()
        problem = await self._problem(request)
        seconds, grown = time.thread_time() - started, memory("VmHWM") - before
        shown = f"{request.method} {request.target[:100]} {request.headers['Content-Type']} {request.body[:200]!r}"
        self.cost = self.cost.plus(shown, problem, seconds, grown)

    async def _problem(self, request: RawRequest) -> str:
        try:
            result = await in_process_cluster.send(self._daemon, request)
        except Exception:
            return traceback.format_exc(limit=-4)
        return response_checks.problem(result.code, result.body)[:500] if result is not in_process_cluster.NOT_HANDLED else ""


async def _measure(daemon: ControlPlane, case: str, requests: Iterable[RawRequest]) -> None:
    meter = _Meter(daemon, case)
    for request in requests:
        await meter.send(request)
    print(json.dumps(meter.cost), flush=True)


async def _run(data: pathlib.Path, number: int) -> None:
    """With the cycle collector as in the daemon."""
    async with in_process_cluster.cluster(data) as daemon:
        resources = sorted(daemon.registry, key=lambda each: (each.group, each.version, each.plural))
        with gc_tuning.tuned():
            enlarged = (each for seed in range(number) for each in enlarged_objects.requests(seed, resources))
            await _measure(daemon, ENLARGED, enlarged)
            for case in CASES:
                await _measure(daemon, case.__name__, case())
            for name, language in zip(RANDOM, random_requests.LANGUAGES, strict=True):
                await _measure(daemon, name, random_requests.requests(language, number))


if __name__ == "__main__":
    asyncio.run(_run(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
