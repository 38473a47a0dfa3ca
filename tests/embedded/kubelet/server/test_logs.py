"""The endpoint /containerLogs: its options, and the error messages of the kubelet."""

from __future__ import annotations

import datetime

import aiohttp
import pytest
from tests.embedded.kubelet.server.nodes import Node
from tests.embedded.kubelet.server.process_runtime import Container
from tests.embedded.kubelet.server.stream_clients import wait_until

PATH = "/containerLogs/ns/pod/main"


@pytest.fixture
async def container(node: Node) -> Container:
    container = node.runtime.containers["ns", "pod", "main"]
    await container.write_log("old", at=datetime.datetime(2024, 5, 1, 10, 0, 0, 123456, datetime.UTC))
    await container.write_log("one", "two", "three")
    return container


@pytest.mark.usefixtures("container")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "old\none\ntwo\nthree\n"),
        ("?tailLines=2", "two\nthree\n"),
        ("?tailLines=0", ""),
        ("?tail=1", "three\n"),
        ("?tail=all&tailLines=1", "old\none\ntwo\nthree\n"),
        ("?limitBytes=6", "old\non"),
        ("?limitBytes=1000", "old\none\ntwo\nthree\n"),
        ("?sinceSeconds=3600", "one\ntwo\nthree\n"),
        ("?sinceTime=2024-05-01T11:00:00%2B01:00", "old\none\ntwo\nthree\n"),
        ("?sinceTime=2024-05-01T10:00:01Z", "one\ntwo\nthree\n"),
        ("?timestamps=true&limitBytes=35", "2024-05-01T10:00:00.123456000Z old\n"),
        ("?follow=false&previous=0", "old\none\ntwo\nthree\n"),
    ],
)
async def test_options_select_the_lines(client: aiohttp.ClientSession, query: str, expected: str) -> None:
    async with client.get(PATH + query) as response:
        assert response.status == 200
        assert response.headers["Content-Type"] == "text/plain"
        assert await response.text() == expected


async def test_follow_streams_new_lines_and_ends_with_the_container(client: aiohttp.ClientSession, container: Container) -> None:
    async with client.get(PATH + "?follow=true&tailLines=1") as response:
        assert await response.content.readline() == b"three\n"
        await container.write_log("four")
        assert await response.content.readline() == b"four\n"
        await container.end()
        assert await response.content.read() == b""


async def test_follow_of_a_silent_container_responds_at_once(client: aiohttp.ClientSession, node: Node) -> None:
    async with client.get(PATH + "?follow=true") as response:
        assert response.status == 200


async def test_a_follower_that_disconnects_is_released(client: aiohttp.ClientSession, container: Container) -> None:
    async with client.get(PATH + "?follow=true"):
        await wait_until(lambda: container.followers == 1)
    await wait_until(lambda: container.followers == 0)


async def test_the_byte_limit_also_ends_a_follower(client: aiohttp.ClientSession, container: Container) -> None:
    async with client.get(PATH + "?follow=true&limitBytes=4") as response:
        assert await response.read() == b"old\n"
    await wait_until(lambda: container.followers == 0)


async def test_the_previous_log_is_returned_if_it_exists(client: aiohttp.ClientSession, container: Container) -> None:
    async with client.get(PATH + "?previous=true") as response:
        expected = (400, 'previous terminated container "main" in pod "pod" not found')
        assert (response.status, await response.text()) == expected
    container.previous = [(datetime.datetime.now(datetime.UTC), b"before\n")]
    async with client.get(PATH + "?previous=true") as response:
        assert await response.text() == "before\n"


async def test_a_waiting_container_has_no_log_yet(client: aiohttp.ClientSession, container: Container) -> None:
    container.waiting = "ContainerCreating"
    async with client.get(PATH) as response:
        expected = (400, 'container "main" in pod "pod" is waiting to start: ContainerCreating')
        assert (response.status, await response.text()) == expected


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/containerLogs/ns/nobody/main", 404, 'pod "nobody" does not exist'),
        ("/containerLogs/ns/pod/nobody", 404, 'container "nobody" not found in pod "pod"'),
        (PATH + "?tailLines=x", 400, '{"message": "Unable to decode query."}'),
        (PATH + "?sinceTime=yesterday", 400, '{"message": "Unable to decode query."}'),
        (PATH + "?tailLines=-1", 422, '{"message": "Invalid request."}'),
        (PATH + "?limitBytes=0", 422, '{"message": "Invalid request."}'),
        (PATH + "?sinceSeconds=0", 422, '{"message": "Invalid request."}'),
        (PATH + "?sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z", 422, '{"message": "Invalid request."}'),
    ],
)
async def test_errors_have_the_messages_of_the_kubelet(client: aiohttp.ClientSession, path: str, code: int, text: str) -> None:
    async with client.get(path) as response:
        assert (response.status, await response.text()) == (code, text)
