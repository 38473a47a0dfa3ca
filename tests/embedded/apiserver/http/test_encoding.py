"""Bytes on the wire: newlines at the end of JSON, indentation, compression."""

from __future__ import annotations

import gzip
import json

import pytest
from tests.embedded.apiserver.http.running_cluster import RunningApi

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("accept", ["application/json", f"{TABLE},application/json"])
@pytest.mark.parametrize(
    "path", ["/api/v1/namespaces/default", "/api/v1/namespaces", "/api/v1/namespaces?limit=1", "/api/v1/nodes/none"]
)
async def test_json_of_resources_ends_with_a_newline_unless_it_is_indented(api: RunningApi, accept: str, path: str) -> None:
    async with api.http.get(path, headers={"Accept": accept}) as response:
        body = await response.read()
    assert body.endswith(b"}\n")
    assert b"\n" not in body[:-1]
    async with api.http.get(path, params={"pretty": "1"}, headers={"Accept": accept}) as response:
        indented = await response.read()
    assert indented.endswith(b"\n}")
    assert json.loads(indented).keys() == json.loads(body).keys()


async def test_discovery_ends_with_a_newline_and_the_version_is_indented(api: RunningApi) -> None:
    for path in ("/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"):
        async with api.http.get(path) as response:
            assert (await response.read()).endswith(b"}\n"), path
    async with api.http.get("/version") as response:
        assert (await response.read()).startswith(b'{\n  "major": "1",\n')


@pytest.mark.parametrize("accept", ["application/json", PROTOBUF])
async def test_openapi_v2_is_compressed_for_clients_that_accept_it(api: RunningApi, accept: str) -> None:
    async with api.http.get("/openapi/v2", headers={"Accept": accept, "Accept-Encoding": "deflate, gzip;q=0.5"}) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        compressed, etag = await response.read(), response.headers["ETag"]
    for encoding in ("identity", "*", "gzip;q=0", "deflate, br"):
        async with api.http.get("/openapi/v2", headers={"Accept": accept, "Accept-Encoding": encoding}) as response:
            assert "Content-Encoding" not in response.headers, encoding
            assert response.headers["ETag"] == etag
            plain = await response.read()
    assert gzip.decompress(compressed) == plain
    assert len(compressed) < len(plain) / 3


async def test_a_document_that_has_not_changed_is_not_sent_again(api: RunningApi) -> None:
    async with api.http.get("/openapi/v2", headers={"Accept-Encoding": "gzip"}) as response:
        etag = response.headers["ETag"]
    async with api.http.get("/openapi/v2", headers={"Accept-Encoding": "gzip", "If-None-Match": etag}) as response:
        assert (response.status, await response.read()) == (304, b"")
