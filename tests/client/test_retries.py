"""Which requests are retried."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import hypothesis
import hypothesis.strategies as st
import pytest

from traincrew import errors
from traincrew.client import remote, retries
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.conftest import ApiServer, Connect, Responses

NAMED, UNNAMED = b'{"metadata":{"name":"p"}}', b'{"metadata":{"generateName":"p-"}}'
Call = Callable[[remote.RemoteClient], Awaitable[bytes]]

GET = pytest.param(lambda c: c.get(PODS, "ns", "p"), id="get")
CREATE = pytest.param(lambda c: c.create(PODS, "ns", NAMED), id="create")
REPLACE = pytest.param(lambda c: c.replace(PODS, "ns", "p", NAMED), id="replace")
MERGE = pytest.param(lambda c: c.patch(PODS, "ns", "p", b"{}"), id="merge patch")
DELETE = pytest.param(lambda c: c.delete(PODS, "ns", "p", uid="u"), id="delete")
UNNAMED_CREATE = pytest.param(lambda c: c.create(PODS, "ns", UNNAMED), id="create without a name")
JSON_PATCH = pytest.param(lambda c: c.patch(PODS, "ns", "p", b"[]", type="json"), id="JSON patch")

IDEMPOTENT = [GET, CREATE, REPLACE, MERGE, DELETE]
NOT_IDEMPOTENT = [UNNAMED_CREATE, JSON_PATCH]


@pytest.mark.parametrize("call", IDEMPOTENT)
async def test_idempotent_requests_are_retried_after_temporary_errors(
    server: ApiServer, connect: Connect, responses: Responses, call: Call
) -> None:
    server.respond(
        responses.abort, responses.status(500), responses.status(503), responses.status(504), responses.status(200, b"[1]")
    )
    async with connect() as client:
        assert await call(client) == b"[1]"
    assert len(server.requests) >= 5


@pytest.mark.parametrize("call", NOT_IDEMPOTENT)
@pytest.mark.parametrize("fault", ["cut", "500"])
async def test_other_requests_are_sent_once(
    server: ApiServer, connect: Connect, responses: Responses, call: Call, fault: str
) -> None:
    server.respond(responses.abort if fault == "cut" else responses.status(500))
    async with connect() as client:
        with pytest.raises(errors.TemporaryError):
            await call(client)
    assert len(server.requests) == 1


@pytest.mark.parametrize("call", IDEMPOTENT + NOT_IDEMPOTENT)
async def test_requests_that_the_server_did_not_process_are_retried(
    server: ApiServer, connect: Connect, responses: Responses, call: Call
) -> None:
    server.respond(responses.status(429, Retry_After="0"), responses.status(503, Retry_After="0"), responses.status(200, b"[1]"))
    async with connect() as client:
        assert await call(client) == b"[1]"
    assert len(server.requests) == 3


async def test_a_create_whose_response_was_lost_raises_already_exists(
    server: ApiServer, connect: Connect, responses: Responses
) -> None:
    server.respond(responses.abort, responses.status_error(409, "AlreadyExists"))
    async with connect() as client:
        with pytest.raises(errors.AlreadyExists):
            await client.create(PODS, "ns", NAMED)


@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 422])
async def test_permanent_errors_are_not_retried(server: ApiServer, connect: Connect, responses: Responses, code: int) -> None:
    server.respond(responses.status_error(code, ""))
    async with connect() as client:
        with pytest.raises(errors.ApiError):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 1


async def test_attempts_are_limited_and_the_last_error_is_raised(
    server: ApiServer, connect: Connect, responses: Responses
) -> None:
    server.respond(responses.status(500), responses.status(503), responses.status_error(502, "", "the last"))
    async with connect(attempts=3) as client:
        with pytest.raises(errors.ServerError, match="the last"):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 3


async def test_a_long_retry_after_is_left_to_the_caller(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.status(429, Retry_After="3600"))
    async with connect() as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.get(PODS, "ns", "p")
    assert caught.value.retry_after == 3600
    assert len(server.requests) == 1


async def test_retry_after_is_read_from_the_status(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.status_error(500, "ServerTimeout", retryAfterSeconds=3600))
    async with connect() as client:
        with pytest.raises(errors.ServerError) as caught:
            await client.get(PODS, "ns", "p")
    assert caught.value.retry_after == 3600


@hypothesis.given(st.integers(), st.integers(0, 200), st.floats(0, 100))
def test_delays_are_at_least_retry_after_and_at_most_the_longest(seed: int, count: int, retry_after: float) -> None:
    backoff = retries.Backoff(0.1, 5.0, random.Random(seed))
    for _ in range(count):
        assert 0.05 <= backoff.next() <= 5.0
    assert backoff.next(errors.TooManyRequests("wait", retry_after=retry_after)) >= retry_after
    backoff.reset()
    assert backoff.next() <= 0.1


def test_delays_grow() -> None:
    backoff = retries.Backoff(0.1, 5.0)
    delays = [backoff.next() for _ in range(8)]
    assert delays[2] > delays[0]
    assert delays[7] > 2
