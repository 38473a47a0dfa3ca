"""A job that does not exist is not found, also if the console cannot read a history."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import web

from traincrew import errors
from traincrew.cli.jobs import console_client, recorded_jobs

MISSING = errors.NoJob('job "x" not found in namespace "default".')


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        pytest.param(
            404,
            {"reason": "NotFound", "tried": "list jobs", "message": "the console has no such path", "code": 404},
            recorded_jobs.OLDER_VERSION,
            id="of an older version",
        ),
        pytest.param(
            409,
            {"reason": "Conflict", "tried": "list jobs", "message": "no history is recorded for this cluster", "code": 409},
            "Deleted jobs cannot be searched: no history is recorded for this cluster.",
            id="without a recorder",
        ),
        pytest.param(
            500, None, "Deleted jobs cannot be searched: the console responds with status 500.", id="another program at its port"
        ),
    ],
)  # fmt: skip
async def test_the_job_is_not_found_whatever_the_console_answers(
    status: int, body: dict[str, str | int] | None, reason: str
) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response(body, status=status) if body else web.Response(status=status, text="?")

    application = web.Application()
    application.router.add_get("/api/v1/history/objects", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with aiohttp.ClientSession() as http:
            client = console_client.ConsoleClient(http, f"http://127.0.0.1:{runner.addresses[0][1]}", "token")
            with pytest.raises(errors.NoJob) as raised:
                await recorded_jobs._list(client, {}, MISSING)
    finally:
        await runner.cleanup()
    assert str(raised.value) == f"{MISSING} {reason}"
