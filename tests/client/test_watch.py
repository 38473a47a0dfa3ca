"""Watches: chunks, lines, changes and the end of a watch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import hypothesis
import hypothesis.strategies as st
import pytest
from aiohttp import web

from traincrew import errors
from traincrew.client import interfaces, remote, watch_stream
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.conftest import ApiServer, Connect, Responses


def event(kind: str, version: str, **more: object) -> bytes:
    return json.dumps({"type": kind, "object": {"metadata": {"resourceVersion": version}, **more}}).encode() + b"\n"


def error(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "message": "no", "reason": reason, "code": code}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"


async def watched(client: remote.RemoteClient) -> list[interfaces.WatchEvent]:
    return [change async for change in client.watch(PODS, "ns", labels="a=b", resource_version="5")]


async def test_changes_are_delivered_in_order_after_a_first_bookmark(
    server: ApiServer, connect: Connect, responses: Responses
) -> None:
    body = event("ADDED", "6") + event("MODIFIED", "7") + event("BOOKMARK", "9") + event("DELETED", "10")
    server.respond(responses.stream(body))
    async with connect() as client:
        changes = await watched(client)
    assert [change.type for change in changes] == ["BOOKMARK", "ADDED", "MODIFIED", "BOOKMARK", "DELETED"]
    versions = [json.loads(change.object)["metadata"]["resourceVersion"] for change in changes]
    assert versions == ["5", "6", "7", "9", "10"]


async def test_a_watch_requests_bookmarks_and_a_timeout(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.stream())
    async with connect(watch_seconds=(300, 300)) as client:
        await watched(client)
    assert server.requests[0].path == "/api/v1/namespaces/ns/pods"
    assert server.requests[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "300",
        "labelSelector": "a=b",
    }


async def test_objects_larger_than_the_buffer_are_delivered(server: ApiServer, connect: Connect, responses: Responses) -> None:
    line = event("ADDED", "6", pad="x" * 3_000_000)
    server.respond(responses.stream(*(line[at : at + 100_000] for at in range(0, len(line), 100_000))))
    async with connect() as client:
        assert len((await watched(client))[1].object) > 3_000_000


async def test_objects_of_any_depth_are_delivered(server: ApiServer, connect: Connect, responses: Responses) -> None:
    deep = b'{"metadata":{"resourceVersion":"6"},"spec":' + b"[" * 9_900 + b"]" * 9_900 + b"}"
    server.respond(responses.stream(b'{"type":"ADDED","object":' + deep + b"}\n" + event("ADDED", "7")))
    async with connect() as client:
        changes = await watched(client)
    assert [json.loads(change.object)["metadata"]["resourceVersion"] for change in changes] == ["5", "6", "7"]


@pytest.mark.parametrize("reason", ["Expired", "Gone"])
async def test_an_old_version_is_expired_by_status_code_and_by_event(
    server: ApiServer, connect: Connect, responses: Responses, reason: str
) -> None:
    server.respond(responses.status_error(410, reason), responses.stream(error(410, reason)))
    async with connect() as client:
        for _ in range(2):
            with pytest.raises(errors.Expired):
                await watched(client)


async def test_an_error_event_raises_the_error_of_its_code(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.stream(error(500, "InternalError")), responses.stream(error(403, "Forbidden")))
    async with connect() as client:
        with pytest.raises(errors.ServerError):
            await watched(client)
        with pytest.raises(errors.Forbidden):
            await watched(client)


async def test_the_client_does_not_retry_a_watch(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.status(503))
    async with connect() as client:
        with pytest.raises(errors.ServerError):
            await watched(client)
    assert len(server.requests) == 1


async def test_an_aborted_watch_raises_unreachable_after_the_delivered_changes(
    server: ApiServer, connect: Connect, responses: Responses
) -> None:
    server.respond(responses.stream(event("ADDED", "6"), event("ADDED", "7")[:20], end=False))
    async with connect() as client:
        watch = client.watch(PODS, "ns", resource_version="5")
        assert [(await anext(watch)).type, (await anext(watch)).type] == ["BOOKMARK", "ADDED"]
        with pytest.raises(errors.Unreachable, match="connection lost"):
            await anext(watch)


async def test_a_line_that_is_not_an_event_is_a_server_error(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.stream(b"<html>\n"))
    async with connect() as client:
        with pytest.raises(errors.ServerError, match="not an event"):
            await watched(client)


async def test_watches_do_not_count_as_requests_in_flight(server: ApiServer, connect: Connect, responses: Responses) -> None:
    async with connect(in_flight=1) as client:
        server.respond(responses.stream(event("ADDED", "6")))
        async for _ in client.watch(PODS, "ns", resource_version="5"):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 3


async def test_leaving_a_watch_closes_the_connection(server: ApiServer, connect: Connect) -> None:
    async def endless(request: object) -> object:
        response = web.StreamResponse()
        await response.prepare(request)  # type: ignore[arg-type]
        await response.write(event("ADDED", "6"))
        while True:
            await response.write(event("BOOKMARK", "7"))

    server.respond(endless)  # type: ignore[arg-type]
    async with connect() as client:
        watch = client.watch(PODS, "ns", resource_version="5")
        await anext(watch)
        await anext(watch)
        await watch.aclose()
        await server.until(lambda: server.active == 0)


async def test_on_request_is_called_when_a_watch_is_established(
    server: ApiServer, connect: Connect, responses: Responses
) -> None:
    calls: list[tuple[str, str, int]] = []
    server.respond(responses.stream(), responses.abort, responses.abort)  # aiohttp retries once on a reused connection
    async with connect(on_request=lambda *each: calls.append(each[:3])) as client:
        await watched(client)
        with pytest.raises(errors.Unreachable):
            await watched(client)
    assert calls == [("watch", "pods", 200), ("watch", "pods", 0)]


@hypothesis.given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line)), st.data())
def test_lines_are_complete_for_any_chunks(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    splitter, out = watch_stream.Lines(), []
    for start, end in zip([0, *places], [*places, len(text)], strict=True):
        out += splitter.feed(text[start:end])
    assert out == lines
