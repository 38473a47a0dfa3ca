"""Watches: lines out of chunks, changes out of lines, and every way in which a watch ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import hypothesis
import hypothesis.strategies as st
import pytest
from aiohttp import web

from traincrew import errors
from traincrew.client import port, remote, watch_stream
from traincrew.model.resources import PODS

if TYPE_CHECKING:
    from tests.client.conftest import Answers, ApiServer, Connect


def event(kind: str, version: str, **more: object) -> bytes:
    return json.dumps({"type": kind, "object": {"metadata": {"resourceVersion": version}, **more}}).encode() + b"\n"


def error(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "message": "no", "reason": reason, "code": code}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"


async def watched(client: remote.RemoteClient) -> list[port.Change]:
    return [change async for change in client.watch(PODS, "ns", labels="a=b", resource_version="5")]


async def test_changes_come_in_order_after_a_bookmark_that_says_the_watch_stands(
    server: ApiServer, connect: Connect, say: Answers
) -> None:
    body = event("ADDED", "6") + event("MODIFIED", "7") + event("BOOKMARK", "9") + event("DELETED", "10")
    server.answers(say.stream(body))
    async with connect() as client:
        changes = await watched(client)
    assert [change.type for change in changes] == ["BOOKMARK", "ADDED", "MODIFIED", "BOOKMARK", "DELETED"]
    versions = [json.loads(change.object)["metadata"]["resourceVersion"] for change in changes]
    assert versions == ["5", "6", "7", "9", "10"]


async def test_a_watch_asks_for_bookmarks_and_names_its_end(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.stream())
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


async def test_objects_larger_than_any_buffer_arrive_whole(server: ApiServer, connect: Connect, say: Answers) -> None:
    line = event("ADDED", "6", pad="x" * 3_000_000)
    server.answers(say.stream(*(line[at : at + 100_000] for at in range(0, len(line), 100_000))))
    async with connect() as client:
        assert len((await watched(client))[1].object) > 3_000_000


@pytest.mark.parametrize("reason", ["Expired", "Gone"])
async def test_an_old_version_is_expired_whether_told_by_code_or_by_event(
    server: ApiServer, connect: Connect, say: Answers, reason: str
) -> None:
    server.answers(say.refusal(410, reason), say.stream(error(410, reason)))
    async with connect() as client:
        for _ in range(2):
            with pytest.raises(errors.Expired):
                await watched(client)


async def test_an_error_event_is_the_error_of_its_code(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.stream(error(500, "InternalError")), say.stream(error(403, "Forbidden")))
    async with connect() as client:
        with pytest.raises(errors.ServerError):
            await watched(client)
        with pytest.raises(errors.Forbidden):
            await watched(client)


async def test_a_watch_is_not_asked_for_again_by_the_client(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.status(503))
    async with connect() as client:
        with pytest.raises(errors.ServerError):
            await watched(client)
    assert len(server.requests) == 1


async def test_a_cut_watch_is_unreachable_after_what_came_before(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.stream(event("ADDED", "6"), event("ADDED", "7")[:20], end=False))
    async with connect() as client:
        watch = client.watch(PODS, "ns", resource_version="5")
        assert [(await anext(watch)).type, (await anext(watch)).type] == ["BOOKMARK", "ADDED"]
        with pytest.raises(errors.Unreachable, match="connection lost"):
            await anext(watch)


async def test_a_line_that_is_no_event_is_the_servers_fault(server: ApiServer, connect: Connect, say: Answers) -> None:
    server.answers(say.stream(b"<html>\n"))
    async with connect() as client:
        with pytest.raises(errors.ServerError, match="not an event"):
            await watched(client)


async def test_watches_take_no_place_of_requests(server: ApiServer, connect: Connect, say: Answers) -> None:
    async with connect(in_flight=1) as client:
        server.answers(say.stream(event("ADDED", "6")))
        async for _ in client.watch(PODS, "ns", resource_version="5"):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 3


async def test_leaving_a_watch_hangs_up(server: ApiServer, connect: Connect) -> None:
    async def endless(request: object) -> object:
        response = web.StreamResponse()
        await response.prepare(request)  # type: ignore[arg-type]
        await response.write(event("ADDED", "6"))
        while True:
            await response.write(event("BOOKMARK", "7"))

    server.answers(endless)  # type: ignore[arg-type]
    async with connect() as client:
        watch = client.watch(PODS, "ns", resource_version="5")
        await anext(watch)
        await anext(watch)
        await watch.aclose()
        await server.until(lambda: server.active == 0)


async def test_watches_are_told_to_the_hook_when_they_stand(server: ApiServer, connect: Connect, say: Answers) -> None:
    message: list[tuple[str, str, int]] = []
    server.answers(say.stream(), say.cut, say.cut)  # a reused connection is tried once more by aiohttp
    async with connect(on_request=lambda *each: message.append(each[:3])) as client:
        await watched(client)
        with pytest.raises(errors.Unreachable):
            await watched(client)
    assert message == [("watch", "pods", 200), ("watch", "pods", 0)]


@hypothesis.given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line)), st.data())
def test_lines_come_out_whole_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    splitter, out = watch_stream.Lines(), []
    for start, end in zip([0, *places], [*places, len(text)], strict=True):
        out += splitter.feed(text[start:end])
    assert out == lines
