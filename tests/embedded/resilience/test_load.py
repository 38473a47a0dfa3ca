"""Many clients, and clients that do not read: the server keeps serving and its memory stays bounded."""

from __future__ import annotations

import asyncio
import json
import os
import resource
from collections.abc import Iterator

import pytest
from tests.embedded.resilience import timeouts
from tests.embedded.resilience.cluster_process import ClusterProcess, config_map, running
from tests.embedded.resilience.load_clients import PATH
from tests.embedded.resilience.raw_http import Connection
from tests.embedded.resilience.request_generator import RawRequest
from tests.embedded.resilience.test_crash_recovery import job

LARGE = "x" * 200_000
MEGABYTE = 2**20
READERS = 20
LOG = "/api/v1/namespaces/kubeflow/pods/traincrew-operator/log?follow=true"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running(tmp_path_factory.mktemp("load") / "data") as process:
        yield process
        assert process.stop() == 0
        assert "Traceback" not in process.log()


def open_files(cluster: ClusterProcess) -> int:
    assert cluster.process
    return len(os.listdir(f"/proc/{cluster.process.pid}/fd"))


async def update(cluster: ClusterProcess, name: str, number: int) -> None:
    async with cluster.client() as client:
        path = f"{PATH}/{name}"
        kind = {"Content-Type": "application/merge-patch+json"}
        for count in range(number):
            body = json.dumps({"data": {"text": f"{count}{LARGE}"}}).encode()
            async with client.patch(path, data=body, headers=kind) as response:
                assert response.status == 200, await response.text()


async def create(cluster: ClusterProcess, *names: str) -> None:
    async with cluster.client() as client:
        for name in names:
            body = config_map(name, text=LARGE)
            async with client.post(PATH, data=body, headers={"Content-Type": "application/json"}) as response:
                assert response.status == 201, await response.text()


async def test_watchers_that_do_not_read_do_not_block_and_end_with_410(cluster: ClusterProcess) -> None:
    await create(cluster, "watched")
    await update(cluster, "watched", 200)  # fills the watch cache before memory is measured
    watchers = [await Connection.to(cluster) for _ in range(READERS)]
    for watcher in watchers:
        watcher.send(RawRequest("GET", f"{PATH}?watch=true&fieldSelector=metadata.name=watched", {}, b""))
        await watcher.writer.drain()
    before = cluster.resident()
    await update(cluster, "watched", 400)
    grown = cluster.resident() - before
    # One buffer for each watcher would take 1,600 MB.
    assert grown < 160 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB for {READERS} watchers"
    for watcher in watchers:
        async with asyncio.timeout(60):
            response = await watcher.response()
        last = json.loads(response.body.splitlines()[-1])
        assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 410, "Expired")
        await watcher.close()


async def test_unread_lists_are_not_buffered_per_client(cluster: ClusterProcess) -> None:
    await create(cluster, *(f"listed-{number}" for number in range(100)))
    before = cluster.resident()
    readers = [await Connection.to(cluster) for _ in range(READERS)]
    for reader in readers:
        reader.send(RawRequest("GET", PATH, {}, b""))
        await reader.writer.drain()
    async with cluster.client() as client, client.get(PATH) as response:
        assert len(json.loads(await response.read())["items"]) >= 100
    grown = cluster.resident() - before
    # One whole response for each reader would take 400 MB.
    assert grown < 200 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB for {READERS} readers"
    for reader in readers:
        await reader.close()


async def test_a_thousand_connections_are_served_and_closed(cluster: ClusterProcess) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before, memory = open_files(cluster), cluster.resident()
    connections: list[Connection] = []
    for _ in range(20):
        connections += await asyncio.gather(*(Connection.to(cluster) for _ in range(50)))
    for connection in connections:
        connection.send(RawRequest("GET", f"{PATH}/kube-root-ca.crt", {}, b""))
    codes = {(await connection.response()).code for connection in connections}
    assert codes == {200}
    grown = cluster.resident() - memory
    assert grown < 300 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB"
    for connection in connections:
        await connection.close()
    await timeouts.until(lambda: open_files(cluster) <= before + 5, "closed connections")


async def test_fifty_log_followers_read_every_line_and_are_closed(cluster: ClusterProcess) -> None:
    before = open_files(cluster)
    async with cluster.client() as client:
        followers = [await client.get(LOG) for _ in range(50)]
        assert {follower.status for follower in followers} == {200}
        path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
        async with client.post(path, data=job("followed"), headers={"Content-Type": "application/json"}) as response:
            assert response.status == 201
        async with asyncio.timeout(60):
            for follower in followers:
                while b"followed" not in await follower.content.readline():
                    pass
                follower.close()
    await timeouts.until(lambda: open_files(cluster) <= before + 5, "closed log streams")
