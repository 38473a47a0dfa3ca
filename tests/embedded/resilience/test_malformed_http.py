"""Invalid requests and malformed HTTP, sent over HTTPS to a `traincrew up` process."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import pathlib
import random
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
from tests.embedded.resilience import fuzz_values, request_generator, response_checks
from tests.embedded.resilience.cluster_process import ClusterProcess, config_map, running
from tests.embedded.resilience.raw_http import Connection, ConnectionClosed, RawResponse
from tests.embedded.resilience.request_generator import RawRequest

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.schema import builtin_kinds
from traincrew.serving import repeated_headers

CASES = int(os.environ.get("TRAINCREW_FUZZ", "8000")) // 4
CONNECTIONS = 8
MAX_GROWTH = 128 * 2**20
JSON = {"Content-Type": "application/json"}
LIST = RawRequest("GET", "/api/v1/namespaces/default/configmaps", {}, b"")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running(tmp_path_factory.mktemp("http") / "data") as process:
        yield process
        assert process.stop() == 0
        assert "Traceback" not in process.log()


@pytest.fixture
async def connection(cluster: ClusterProcess) -> AsyncIterator[Connection]:
    opened = await Connection.to(cluster)
    yield opened
    await opened.close()


async def assert_serving(cluster: ClusterProcess) -> None:
    other = await Connection.to(cluster)
    other.send(LIST)
    async with asyncio.timeout(30):
        assert (await other.response()).code == 200
    await other.close()


def is_watch(request: RawRequest) -> bool:
    return "watch" in request.target


async def send_all(cluster: ClusterProcess, numbers: Sequence[int], resources: Sequence[ResourceInfo]) -> list[str]:
    """Sends requests one after the other on a connection, and on a new one whenever the server closes it."""
    problems, connection = [], await Connection.to(cluster)
    for number in numbers:
        request = request_generator.generate(number, resources, seed=77)
        if is_watch(request):
            continue
        connection.send(request)
        try:
            async with asyncio.timeout(60):
                response = await connection.response(request.method)
        except ConnectionClosed:
            problems.append(f"request {number}: no response: {request}")
            connection = await Connection.to(cluster)
            continue
        if (
            problem := response_checks.problem(response.code, response.body, response.content_type)
            if request.method != "HEAD"
            else ""
        ):
            problems.append(f"request {number}: {request}\n{problem}")
        if response.headers.get("connection") == "close" or request.method == "BREW":
            await connection.close()
            connection = await Connection.to(cluster)
    await connection.close()
    return problems


async def test_invalid_requests_over_https_get_a_response(cluster: ClusterProcess) -> None:
    resources = sorted(builtin_kinds.load().resources(), key=lambda each: (each.group, each.version, each.plural))
    before = cluster.resident()
    connections = (send_all(cluster, range(start, CASES, CONNECTIONS), resources) for start in range(CONNECTIONS))
    all_problems = [each for problems in await asyncio.gather(*connections) for each in problems]
    assert not all_problems, f"{len(all_problems)} of {CASES}:\n" + "\n".join(all_problems[:10])
    grown = cluster.resident() - before
    assert grown < MAX_GROWTH, f"{grown / 2**20:.0f} MB more than before"


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
async def test_bytes_that_are_no_request_get_400_or_end_the_connection(
    cluster: ClusterProcess, connection: Connection, sent: bytes
) -> None:
    connection.writer.write(sent)
    with contextlib.suppress(ConnectionClosed, ConnectionError):
        async with asyncio.timeout(30):
            assert 400 <= (await connection.response()).code < 500
    await assert_serving(cluster)


@pytest.mark.parametrize("name", repeated_headers.SINGLE)
@pytest.mark.parametrize("order", [1, -1])
async def test_a_header_that_counts_once_is_not_accepted_twice(
    cluster: ClusterProcess, connection: Connection, name: str, order: int
) -> None:
    """Whichever of the two would be obeyed. The HTTP library rejects some of them itself."""
    host, port = cluster.address
    valid = {
        "Host": f"{host}:{port}",
        "Origin": f"https://{host}:{port}",
        "Sec-Fetch-Site": "same-origin",
        "Authorization": f"Bearer {cluster.token}",
        "Content-Length": "0",
        "Content-Type": "application/json",
        "Content-Encoding": "identity",
        "Transfer-Encoding": "chunked",
        "Upgrade": "websocket",
        "Impersonate-User": "a",
        "Impersonate-Uid": "1",
    }
    sent = {key: value for key, value in valid.items() if key in ("Host", "Authorization") and key != name}
    pair = [f"{name}: {valid[name]}", f"{name}: other"][::order]
    lines = [f"GET {LIST.target} HTTP/1.1", *(f"{key}: {value}" for key, value in sent.items()), *pair, "", ""]
    connection.writer.write("\r\n".join(lines).encode())
    async with asyncio.timeout(30):
        assert (await connection.response()).code == 400
    await assert_serving(cluster)


async def test_random_bytes_do_not_affect_other_clients(cluster: ClusterProcess) -> None:
    rng = random.Random(5)
    for _ in range(50):
        connection = await Connection.to(cluster)
        connection.writer.write(fuzz_values.corrupted(rng, connection.encoded(LIST) + rng.randbytes(rng.randrange(200))))
        await connection.writer.drain()
        await connection.close()
    await assert_serving(cluster)


async def test_pipelined_requests_get_responses_in_order(connection: Connection) -> None:
    requests = [RawRequest("POST", LIST.target, JSON, config_map(f"piped-{number}")) for number in range(50)]
    connection.writer.write(b"".join(map(connection.encoded, requests)))
    for number in range(50):
        response = await connection.response()
        assert response.code == 201
        assert f'"piped-{number}"'.encode() in response.body


async def test_a_body_sent_byte_by_byte_is_read_to_its_end(connection: Connection) -> None:
    for byte in connection.encoded(RawRequest("POST", LIST.target, JSON, config_map("byte-by-byte", text="x" * 300))):
        connection.writer.write(bytes([byte]))
        await connection.writer.drain()
    assert (await connection.response()).code == 201


async def test_a_truncated_body_creates_nothing(cluster: ClusterProcess) -> None:
    connection = await Connection.to(cluster)
    connection.writer.write(connection.encoded(RawRequest("POST", LIST.target, JSON, config_map("cut-off")))[:-10])
    await connection.writer.drain()
    await connection.close()
    other = await Connection.to(cluster)
    other.send(RawRequest("GET", LIST.target + "/cut-off", {}, b""))
    assert (await other.response()).code == 404
    await other.close()


def assert_rejected(response: RawResponse, code: int, reason: str) -> None:
    assert response.code == code
    assert response_checks.problem(response.code, response.body, response.content_type) == ""
    assert f'"reason":"{reason}"'.encode() in response.body


@pytest.mark.parametrize("with_length", [True, False], ids=["with its length", "in chunks"])
async def test_a_body_above_the_limit_is_rejected(cluster: ClusterProcess, connection: Connection, with_length: bool) -> None:
    body = config_map("large", text="x" * 4 * 2**20)
    if with_length:
        connection.writer.write(connection.encoded(RawRequest("POST", LIST.target, JSON, body)))
    else:
        connection.writer.write(connection.encoded(RawRequest("POST", LIST.target, JSON, b""), "Transfer-Encoding: chunked"))
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(body), 2**16):
                part = body[at : at + 2**16]
                connection.writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                await connection.writer.drain()
            connection.writer.write(b"0\r\n\r\n")
    async with asyncio.timeout(30):
        assert_rejected(await connection.response(), 413, "RequestEntityTooLarge")
    await assert_serving(cluster)


async def test_incomplete_requests_do_not_block_other_clients(cluster: ClusterProcess, tmp_path: pathlib.Path) -> None:
    host, port = cluster.address
    without_handshake = [await asyncio.open_connection(host, port) for _ in range(20)]  # no TLS handshake
    half_header = [await Connection.to(cluster) for _ in range(20)]
    for connection in half_header:
        connection.writer.write(b"GET /api HTTP/1.1\r\nHost: ")
    half_body = [await Connection.to(cluster) for _ in range(20)]
    for connection in half_body:
        connection.writer.write(connection.encoded(RawRequest("POST", LIST.target, JSON, config_map("half")))[:-5])
    await assert_serving(cluster)
    for each in (*half_header, *half_body):
        await each.close()
    for _, writer in without_handshake:
        writer.transport.abort()
    await assert_serving(cluster)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "nonsense"])
async def test_a_body_is_read_as_it_is_whatever_its_content_encoding(connection: Connection, encoding: str) -> None:
    """As by kube-apiserver. A compressed body could be a thousand times as large as it seems."""
    target, headers = "/api/v1/namespaces/default/configmaps?dryRun=All", JSON | {"Content-Encoding": encoding}
    bomb = gzip.compress(b'{"metadata":{"name":"' + b"a" * 50_000_000)
    for body, code in ((config_map("plain"), 201), (b"\x1f\x8bbroken", 400), (bomb, 400)):
        connection.send(RawRequest("POST", target, headers, body))
        response = await connection.response()
        assert response.code == code
        assert not response_checks.problem(response.code, response.body)
