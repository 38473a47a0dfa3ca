"""What is asked again, and what is not."""

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
    from tests.client.conftest import Answers, ApiServer, Connect

NAMED, UNNAMED = b'{"metadata":{"name":"p"}}', b'{"metadata":{"generateName":"p-"}}'
Call = Callable[[remote.RemoteClient], Awaitable[bytes]]

GET = pytest.param(lambda c: c.get(PODS, "ns", "p"), id="get")
CREATE = pytest.param(lambda c: c.create(PODS, "ns", NAMED), id="create")
REPLACE = pytest.param(lambda c: c.replace(PODS, "ns", "p", NAMED), id="replace")
MERGE = pytest.param(lambda c: c.patch(PODS, "ns", "p", b"{}"), id="merge patch")
DELETE = pytest.param(lambda c: c.delete(PODS, "ns", "p", uid="u"), id="delete")
UNNAMED_CREATE = pytest.param(lambda c: c.create(PODS, "ns", UNNAMED), id="create without a name")
JSON_PATCH = pytest.param(lambda c: c.patch(PODS, "ns", "p", b"[]", type="json"), id="JSON patch")

HARMLESS_TWICE = [GET, CREATE, REPLACE, MERGE, DELETE]
HARMFUL_TWICE = [UNNAMED_CREATE, JSON_PATCH]


@pytest.mark.parametrize("call", HARMLESS_TWICE)
async def test_what_is_harmless_twice_is_asked_again_after_any_passing_fault(
    server: ApiServer, connect: Connect, say: Answers, call: Call
) -> None:
    server.answers(say.cut, say.status(500), say.status(503), say.status(504), say.status(200, b"[1]"))
    async with connect() as client:
        assert await call(client) == b"[1]"
    assert len(server.requests) >= 5


@pytest.mark.parametrize("call", HARMFUL_TWICE)
@pytest.mark.parametrize("fault", ["cut", "500"])
async def test_what_may_do_harm_twice_is_asked_once(
    server: ApiServer, connect: Connect, say: Answers, call: Call, fault: str
) -> None:
    server.answers(say.cut if fault == "cut" else say.status(500))
    async with connect() as client:
        with pytest.raises(errors.TemporaryError):
            await call(client)
    assert len(server.requests) == 1


@pytest.mark.parametrize("call", HARMLESS_TWICE + HARMFUL_TWICE)
async def test_whatever_the_server_refused_to_begin_is_asked_again(
    server: ApiServer, connect: Connect, say: Answers, call: Call
) -> None:
    server.answers(say.status(429, Retry_After="0"), say.status(503, Retry_After="0"), say.status(200, b"[1]"))
    async with connect() as client:
        assert await call(client) == b"[1]"
    assert len(server.requests) == 3


async def test_a_create_whose_answer_was_lost_ends_in_already_exists(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.cut, say.refusal(409, "AlreadyExists"))
    async with connect() as client:
        with pytest.raises(errors.AlreadyExists):
            await client.create(PODS, "ns", NAMED)


@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 422])
async def test_a_verdict_is_not_asked_for_twice(server: ApiServer, connect: Connect, say: Answers, code: int) -> None:
    server.answers(say.refusal(code, ""))
    async with connect() as client:
        with pytest.raises(errors.ApiError):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 1


async def test_attempts_are_bounded_and_the_last_error_is_raised(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.status(500), say.status(503), say.refusal(502, "", "the last"))
    async with connect(attempts=3) as client:
        with pytest.raises(errors.ServerError, match="the last"):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 3


async def test_a_wait_beyond_all_patience_is_left_to_the_caller(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.status(429, Retry_After="3600"))
    async with connect() as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.get(PODS, "ns", "p")
    assert caught.value.retry_after == 3600
    assert len(server.requests) == 1


async def test_the_status_may_say_how_long_to_wait(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.refusal(500, "ServerTimeout", retryAfterSeconds=3600))
    async with connect() as client:
        with pytest.raises(errors.ServerError) as caught:
            await client.get(PODS, "ns", "p")
    assert caught.value.retry_after == 3600


@hypothesis.given(st.integers(), st.integers(0, 200), st.floats(0, 100))
def test_delays_never_undercut_the_server_and_never_pass_the_longest(seed: int, count: int, asked: float) -> None:
    backoff = retries.Backoff(0.1, 5.0, random.Random(seed))
    for _ in range(count):
        assert 0.05 <= backoff.next() <= 5.0
    assert backoff.next(errors.TooManyRequests("wait", retry_after=asked)) >= asked
    backoff.reset()
    assert backoff.next() <= 0.1


def test_delays_grow() -> None:
    backoff = retries.Backoff(0.1, 5.0)
    delays = [backoff.next() for _ in range(8)]
    assert delays[2] > delays[0]
    assert delays[7] > 2
