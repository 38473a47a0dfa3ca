"""Thousands of requests that make little sense, straight to the handler: each is answered, none is stumbled over.

TRAINCREW_FUZZ names how many (default 8,000), TRAINCREW_FUZZ_SEED where to begin.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import traceback
from collections.abc import Sequence

import pytest
from tests.embedded.resilience import asked, patience, played, verdicts

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.daemon import Daemon

CASES = int(os.environ.get("TRAINCREW_FUZZ", "8000"))
SEED = int(os.environ.get("TRAINCREW_FUZZ_SEED", "0"))
AT_ONCE = 8
ROOM = 96 * 2**20
"""Bytes that the process may grow by: history and logs that are kept, not what was refused."""


async def tried(daemon: Daemon, number: int, resources: Sequence[ResourceInfo]) -> str:
    """What went wrong; empty if nothing did."""
    request = asked.asked(number, resources, SEED)
    try:
        answer = await played.play(daemon, request)
    except Exception:
        return f"request {number}: {request}\n{traceback.format_exc(limit=-4)}"
    wrong = verdicts.fault(answer.code, answer.body) if answer is not played.NOTHING else ""
    return f"request {number}: {request}\n{wrong}" if wrong else ""


async def test_nonsense_is_answered_with_a_status_and_never_with_a_fault(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    wrong: list[str] = []
    async with played.cluster(tmp_path / "data") as daemon:
        before = verdicts.resident()
        for start in range(0, CASES, AT_ONCE):
            resources = sorted(daemon.registry, key=lambda each: (each.group, each.version, each.plural))
            numbers = range(start, min(start + AT_ONCE, CASES))
            with patience.limit(60, f"requests {numbers}"):
                wrong += filter(None, await asyncio.gather(*(tried(daemon, number, resources) for number in numbers)))
        grown = verdicts.resident() - before
        assert daemon.store.revision > 100, "hardly anything was accepted"
    assert not wrong, f"{len(wrong)} of {CASES}:\n" + "\n".join(wrong[:10])
    assert grown < ROOM, f"{grown / 2**20:.0f} MB more than before"
    assert not [record for record in caplog.records if record.exc_info], "a traceback was logged"
