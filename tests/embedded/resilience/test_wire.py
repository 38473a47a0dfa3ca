"""The same nonsense, and worse, as bytes over HTTPS to a `traincrew up` of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import random
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
from tests.embedded.resilience import asked, nonsense, verdicts
from tests.embedded.resilience.asked import Asked
from tests.embedded.resilience.clusters import Process, config_map, running
from tests.embedded.resilience.wire import Answer, Closed, Connection

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.schema import builtin_kinds

CASES = int(os.environ.get("TRAINCREW_FUZZ", "8000")) // 4
LANES = 8
ROOM = 128 * 2**20
JSON = {"Content-Type": "application/json"}
LIST = Asked("GET", "/api/v1/namespaces/default/configmaps", {}, b"")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with running(tmp_path_factory.mktemp("wire") / "data") as process:
        yield process
        assert process.stop() == 0
        assert "Traceback" not in process.log()


@pytest.fixture
async def connection(cluster: Process) -> AsyncIterator[Connection]:
    found = await Connection.to(cluster)
    yield found
    await found.close()


async def alive(cluster: Process) -> None:
    other = await Connection.to(cluster)
    other.send(LIST)
    async with asyncio.timeout(30):
        assert (await other.answer()).code == 200
    await other.close()


def watches(request: Asked) -> bool:
    return "watch" in request.target


async def lane(cluster: Process, numbers: Sequence[int], resources: Sequence[ResourceInfo]) -> list[str]:
    """Requests one after the other on a connection, a new one whenever the server ends it."""
    wrong, connection = [], await Connection.to(cluster)
    for number in numbers:
        request = asked.asked(number, resources, seed=77)
        if watches(request):
            continue
        connection.send(request)
        try:
            async with asyncio.timeout(60):
                answer = await connection.answer(request.method)
        except Closed:
            wrong.append(f"request {number}: no answer: {request}")
            connection = await Connection.to(cluster)
            continue
        if fault := verdicts.fault(answer.code, answer.body, answer.content_type) if request.method != "HEAD" else "":
            wrong.append(f"request {number}: {request}\n{fault}")
        if answer.headers.get("connection") == "close" or request.method == "BREW":
            await connection.close()
            connection = await Connection.to(cluster)
    await connection.close()
    return wrong


async def test_nonsense_over_https_is_answered(cluster: Process) -> None:
    resources = sorted(builtin_kinds.load().resources(), key=lambda each: (each.group, each.version, each.plural))
    before = cluster.resident()
    lanes = (lane(cluster, range(start, CASES, LANES), resources) for start in range(LANES))
    wrong = [each for found in await asyncio.gather(*lanes) for each in found]
    assert not wrong, f"{len(wrong)} of {CASES}:\n" + "\n".join(wrong[:10])
    grown = cluster.resident() - before
    assert grown < ROOM, f"{grown / 2**20:.0f} MB more than before"


GARBAGE = {
    "no HTTP": b"\x16\x03\x01 hello\r\n\r\n",
    "empty lines": b"\r\n" * 100 + b"x\r\n\r\n",
    "NULs": b"GET /api\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "other version": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "long line": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "long header": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 50_000 + b"\r\n",
    "folded header": b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
    "control characters": b"GET / HTTP/1.1\r\nHost: x\r\nA: \x01\x02\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "negative length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "length of letters": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
    "length and chunks": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad chunk": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
    "absolute form": b"GET https://elsewhere.example/api HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "connect": b"CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443\r\n\r\n",
    "bad percent": b"GET /api/v1/namespaces/%zz/pods?x=%f HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE.keys())
async def test_what_is_no_request_is_refused_or_hung_up_on(cluster: Process, connection: Connection, sent: bytes) -> None:
    connection.writer.write(sent)
    with contextlib.suppress(Closed, ConnectionError):
        async with asyncio.timeout(30):
            assert 400 <= (await connection.answer()).code < 500
    await alive(cluster)


async def test_random_bytes_harm_nobody(cluster: Process) -> None:
    chance = random.Random(5)
    for _ in range(50):
        connection = await Connection.to(cluster)
        connection.writer.write(nonsense.damaged(chance, connection.encoded(LIST) + chance.randbytes(chance.randrange(200))))
        await connection.writer.drain()
        await connection.close()
    await alive(cluster)


async def test_pipelined_requests_are_answered_in_order(connection: Connection) -> None:
    made = [Asked("POST", LIST.target, JSON, config_map(f"piped-{number}")) for number in range(50)]
    connection.writer.write(b"".join(map(connection.encoded, made)))
    for number in range(50):
        answer = await connection.answer()
        assert answer.code == 201
        assert f'"piped-{number}"'.encode() in answer.body


async def test_a_body_in_drips_is_read_to_its_end(connection: Connection) -> None:
    for byte in connection.encoded(Asked("POST", LIST.target, JSON, config_map("dripped", text="x" * 300))):
        connection.writer.write(bytes([byte]))
        await connection.writer.drain()
    assert (await connection.answer()).code == 201


async def test_a_body_that_is_cut_off_makes_nothing(cluster: Process) -> None:
    connection = await Connection.to(cluster)
    connection.writer.write(connection.encoded(Asked("POST", LIST.target, JSON, config_map("cut-off")))[:-10])
    await connection.writer.drain()
    await connection.close()
    other = await Connection.to(cluster)
    other.send(Asked("GET", LIST.target + "/cut-off", {}, b""))
    assert (await other.answer()).code == 404
    await other.close()


def refused(answer: Answer, code: int, reason: str) -> None:
    assert answer.code == code
    assert verdicts.fault(answer.code, answer.body, answer.content_type) == ""
    assert f'"reason":"{reason}"'.encode() in answer.body


@pytest.mark.parametrize("told", [True, False], ids=["with its length", "in chunks"])
async def test_a_body_above_the_limit_is_refused(cluster: Process, connection: Connection, told: bool) -> None:
    body = config_map("large", text="x" * 4 * 2**20)
    if told:
        connection.writer.write(connection.encoded(Asked("POST", LIST.target, JSON, body)))
    else:
        connection.writer.write(connection.encoded(Asked("POST", LIST.target, JSON, b""), "Transfer-Encoding: chunked"))
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(body), 2**16):
                part = body[at : at + 2**16]
                connection.writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                await connection.writer.drain()
            connection.writer.write(b"0\r\n\r\n")
    async with asyncio.timeout(30):
        refused(await connection.answer(), 413, "RequestEntityTooLarge")
    await alive(cluster)


async def test_half_of_a_conversation_holds_up_nobody(cluster: Process, tmp_path: pathlib.Path) -> None:
    host, port = cluster.address
    silent = [await asyncio.open_connection(host, port) for _ in range(20)]  # no TLS handshake
    mute = [await Connection.to(cluster) for _ in range(20)]
    for connection in mute:
        connection.writer.write(b"GET /api HTTP/1.1\r\nHost: ")
    waiting = [await Connection.to(cluster) for _ in range(20)]
    for connection in waiting:
        connection.writer.write(connection.encoded(Asked("POST", LIST.target, JSON, config_map("half")))[:-5])
    await alive(cluster)
    for each in (*mute, *waiting):
        await each.close()
    for _, writer in silent:
        writer.transport.abort()
    await alive(cluster)
