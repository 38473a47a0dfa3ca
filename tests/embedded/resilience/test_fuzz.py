"""Thousands of invalid requests, passed straight to the handler: each gets a response, none causes an internal error.

TRAINCREW_FUZZ is their number (default 8,000), TRAINCREW_FUZZ_SEED the seed of the generator.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import traceback
from collections.abc import Sequence

import pytest
from tests.embedded.resilience import in_process_cluster, request_generator, response_checks, timeouts

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.control_plane import ControlPlane

CASES = int(os.environ.get("TRAINCREW_FUZZ", "8000"))
SEED = int(os.environ.get("TRAINCREW_FUZZ_SEED", "0"))
CONCURRENCY = 8
MAX_GROWTH = 96 * 2**20
"""Bytes that the process may grow by: history and logs are kept, rejected requests are not."""


async def problem_of(daemon: ControlPlane, number: int, resources: Sequence[ResourceInfo]) -> str:
    """The problem of the response; empty if there is none."""
    request = request_generator.generate(number, resources, SEED)
    try:
        response = await in_process_cluster.send(daemon, request)
    except Exception:
        return f"request {number}: {request}\n{traceback.format_exc(limit=-4)}"
    problems = response_checks.problem(response.code, response.body) if response is not in_process_cluster.NOT_HANDLED else ""
    return f"request {number}: {request}\n{problems}" if problems else ""


async def test_invalid_requests_get_a_status_and_never_an_internal_error(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    problems: list[str] = []
    async with in_process_cluster.cluster(tmp_path / "data") as daemon:
        before = response_checks.resident()
        for start in range(0, CASES, CONCURRENCY):
            resources = sorted(daemon.registry, key=lambda each: (each.group, each.version, each.plural))
            numbers = range(start, min(start + CONCURRENCY, CASES))
            with timeouts.limit(60, f"requests {numbers}"):
                problems += filter(None, await asyncio.gather(*(problem_of(daemon, number, resources) for number in numbers)))
        grown = response_checks.resident() - before
        assert daemon.store.revision > 100, "hardly any request was accepted"
    assert not problems, f"{len(problems)} of {CASES}:\n" + "\n".join(problems[:10])
    assert grown < MAX_GROWTH, f"{grown / 2**20:.0f} MB more than before"
    assert not [record for record in caplog.records if record.exc_info], "a traceback was logged"
