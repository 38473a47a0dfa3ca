"""Bodies whose Content-Encoding is broken, unknown or one of several, over HTTPS: no internal error, and nothing is unpacked."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import zlib
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from tests.embedded.resilience import response_checks
from tests.embedded.resilience.cluster_process import ClusterProcess, config_map
from tests.embedded.resilience.raw_http import Connection, ConnectionClosed, RawResponse
from tests.embedded.resilience.request_generator import RawRequest
from tests.hostile.footprint import Footprint, assert_nothing_left

NUMBER = int(os.environ.get("TRAINCREW_FUZZ", "300"))
MAX_GROWTH = 100 << 20
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ENCODINGS = (
    "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "identity", "nonsense", "", "GZIP", "gzip;q=0", "*", "é", "g" * 7_000,
    "gzip, gzip", "gzip,deflate,br", "identity, gzip", "gzip, nonsense", ", ,", "gzip, chunked",
)  # fmt: skip
TARGETS = (
    ("POST", f"{CONFIG_MAPS}?dryRun=All", "application/json"),
    ("POST", f"{CONFIG_MAPS}?dryRun=All", "application/yaml"),
    ("POST", f"{CONFIG_MAPS}?dryRun=All", "application/vnd.kubernetes.protobuf"),
    ("PUT", f"{CONFIG_MAPS}/a?dryRun=All", "application/json"),
    ("PATCH", f"{CONFIG_MAPS}/a?dryRun=All", "application/json-patch+json"),
    ("PATCH", f"{CONFIG_MAPS}/a?dryRun=All", "application/strategic-merge-patch+json"),
    ("PATCH", f"{CONFIG_MAPS}/a?dryRun=All&fieldManager=m", "application/apply-patch+yaml"),
    ("DELETE", f"{CONFIG_MAPS}/a?dryRun=All", "application/json"),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", "application/json"),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json"),
    ("POST", "/api/v1/namespaces/default/pods/a/eviction", "application/json"),
    ("GET", CONFIG_MAPS, "application/json"),
    ("POST", "/healthz", "application/json"),
    ("POST", "/nonsense", "application/json"),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    data = tmp_path_factory.mktemp("encodings") / "data"
    process, footprint = ClusterProcess(data), Footprint(data)
    process.start()
    try:
        yield process
        footprint.record()
        assert process.stop() == 0
        assert "Traceback" not in process.log()
        assert_nothing_left(footprint, cluster=True)
    finally:
        if process.process is not None and process.process.poll() is None:
            process.kill()


@pytest.fixture
async def connection(cluster: ClusterProcess) -> AsyncIterator[Connection]:
    opened = await Connection.to(cluster)
    yield opened
    await opened.close()


def _flipped(rng: random.Random, body: bytes) -> bytes:
    damaged = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


BOMB = gzip.compress(gzip.compress(b'{"metadata":{"name":"' + b"a" * 50_000_000))
DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    lambda rng, plain: plain,
    lambda rng, plain: gzip.compress(plain),
    lambda rng, plain: gzip.compress(plain)[: rng.randint(1, 40)],
    lambda rng, plain: gzip.compress(plain)[:-8] + bytes(8),
    lambda rng, plain: _flipped(rng, gzip.compress(plain)),
    lambda rng, plain: gzip.compress(plain) * 3,
    lambda rng, plain: gzip.compress(plain) + rng.randbytes(20),
    lambda rng, plain: gzip.compress(gzip.compress(plain)),
    lambda rng, plain: zlib.compress(plain),
    lambda rng, plain: _flipped(rng, zlib.compress(plain)),
    lambda rng, plain: zlib.compress(plain, wbits=-15),
    lambda rng, plain: b"\x1f\x8b",
    lambda rng, plain: rng.randbytes(rng.choice((1, 30, 9_000))),
    lambda rng, plain: b"\x28\xb5\x2f\xfd" + rng.randbytes(30),
    lambda rng, plain: BOMB,
)


def encoded(rng: random.Random) -> tuple[RawRequest, tuple[str, ...]]:
    """A request, and further header lines."""
    method, target, content = rng.choice(TARGETS)
    lines = rng.choice((("Content-Encoding: gzip",), ("Transfer-Encoding: gzip",), (), (), (), ()))
    headers = {"Content-Type": content, "Content-Encoding": rng.choice(ENCODINGS)}
    return RawRequest(method, target, headers, rng.choice(DAMAGES)(rng, config_map("a", k="v" * 200))), lines


async def response(connection: Connection, request: RawRequest, lines: tuple[str, ...]) -> RawResponse:
    connection.writer.write(connection.encoded(request, *lines))
    async with asyncio.timeout(60):
        return await connection.response(request.method)


async def test_broken_content_encodings_get_a_status_and_never_an_internal_error(cluster: ClusterProcess) -> None:
    problems, before = [], cluster.resident()
    for seed in range(NUMBER):
        request, lines = encoded(random.Random(f"encodings {seed}"))
        connection = await Connection.to(cluster)
        try:
            answer = await response(connection, request, lines)
            problem = response_checks.problem(answer.code, answer.body, answer.content_type)
        except ConnectionClosed:
            problem = "" if lines else "no response"  # a body of unknown length cannot be skipped
        finally:
            await connection.close()
        if problem:
            problems.append(f"{seed}: {request.method} {request.target} {request.headers} {lines}: {problem}")
    assert not problems, "\n".join(problems[:10])
    assert cluster.resident() - before < MAX_GROWTH


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "nonsense"])
async def test_a_body_that_is_not_encoded_is_read_as_it_is(connection: Connection, encoding: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    request = RawRequest("POST", f"{CONFIG_MAPS}?dryRun=All", headers, config_map("plain"))
    assert (await response(connection, request, ())).code == 201


async def test_two_content_encodings_are_rejected(connection: Connection) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    request = RawRequest("POST", f"{CONFIG_MAPS}?dryRun=All", headers, config_map("plain"))
    assert (await response(connection, request, ("Content-Encoding: gzip",))).code == 400
