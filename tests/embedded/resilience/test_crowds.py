"""Many clients, and clients that do not read: the server keeps serving, and its memory stays within bounds."""

from __future__ import annotations

import asyncio
import json
import os
import resource
from collections.abc import Iterator

import pytest
from tests.embedded.resilience import patience
from tests.embedded.resilience.asked import Asked
from tests.embedded.resilience.clusters import Process, config_map, running
from tests.embedded.resilience.observers import PATH
from tests.embedded.resilience.test_killed import job
from tests.embedded.resilience.wire import Connection

LARGE = "x" * 200_000
MEGABYTE = 2**20
READERS = 20
LOG = "/api/v1/namespaces/kubeflow/pods/traincrew-operator/log?follow=true"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with running(tmp_path_factory.mktemp("crowds") / "data") as process:
        yield process
        assert process.stop() == 0
        assert "Traceback" not in process.log()


def files(cluster: Process) -> int:
    assert cluster.process
    return len(os.listdir(f"/proc/{cluster.process.pid}/fd"))


async def wrote(cluster: Process, name: str, number: int) -> None:
    async with cluster.client() as client:
        path = f"{PATH}/{name}"
        kind = {"Content-Type": "application/merge-patch+json"}
        for count in range(number):
            body = json.dumps({"data": {"text": f"{count}{LARGE}"}}).encode()
            async with client.patch(path, data=body, headers=kind) as answer:
                assert answer.status == 200, await answer.text()


async def made(cluster: Process, *names: str) -> None:
    async with cluster.client() as client:
        for name in names:
            body = config_map(name, text=LARGE)
            async with client.post(PATH, data=body, headers={"Content-Type": "application/json"}) as answer:
                assert answer.status == 201, await answer.text()


async def test_watchers_that_do_not_read_are_not_waited_for_and_end_with_410(cluster: Process) -> None:
    await made(cluster, "watched")
    await wrote(cluster, "watched", 200)  # what is kept for watchers in general is there before memory is looked at
    watchers = [await Connection.to(cluster) for _ in range(READERS)]
    for watcher in watchers:
        watcher.send(Asked("GET", f"{PATH}?watch=true&fieldSelector=metadata.name=watched", {}, b""))
        await watcher.writer.drain()
    before = cluster.resident()
    await wrote(cluster, "watched", 400)
    grown = cluster.resident() - before
    # Buffered for each it would be 1,600 MB.
    assert grown < 160 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB for {READERS} watchers"
    for watcher in watchers:
        async with asyncio.timeout(60):
            answer = await watcher.answer()
        last = json.loads(answer.body.splitlines()[-1])
        assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 410, "Expired")
        await watcher.close()


async def test_lists_that_nobody_reads_are_not_kept_for_each(cluster: Process) -> None:
    await made(cluster, *(f"listed-{number}" for number in range(100)))
    before = cluster.resident()
    readers = [await Connection.to(cluster) for _ in range(READERS)]
    for reader in readers:
        reader.send(Asked("GET", PATH, {}, b""))
        await reader.writer.drain()
    async with cluster.client() as client, client.get(PATH) as answer:
        assert len(json.loads(await answer.read())["items"]) >= 100
    grown = cluster.resident() - before
    # Whole for each it would be 400 MB.
    assert grown < 200 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB for {READERS} readers"
    for reader in readers:
        await reader.close()


async def test_a_thousand_connections_are_served_and_leave_nothing_behind(cluster: Process) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before, memory = files(cluster), cluster.resident()
    connections: list[Connection] = []
    for _ in range(20):
        connections += await asyncio.gather(*(Connection.to(cluster) for _ in range(50)))
    for connection in connections:
        connection.send(Asked("GET", f"{PATH}/kube-root-ca.crt", {}, b""))
    codes = {(await connection.answer()).code for connection in connections}
    assert codes == {200}
    grown = cluster.resident() - memory
    assert grown < 300 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB"
    for connection in connections:
        await connection.close()
    await patience.until(lambda: files(cluster) <= before + 5, "the end of the connections")


async def test_fifty_followers_of_a_log_read_every_line_and_leave_nothing_behind(cluster: Process) -> None:
    before = files(cluster)
    async with cluster.client() as client:
        followers = [await client.get(LOG) for _ in range(50)]
        assert {follower.status for follower in followers} == {200}
        path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
        async with client.post(path, data=job("followed"), headers={"Content-Type": "application/json"}) as answer:
            assert answer.status == 201
        async with asyncio.timeout(60):
            for follower in followers:
                while b"followed" not in await follower.content.readline():
                    pass
                follower.close()
    await patience.until(lambda: files(cluster) <= before + 5, "the end of the followers")
