"""A disk that fills up, and a data file that becomes read-only, while the cluster runs."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import Callable, Iterator

import pytest
from tests.embedded.apiserver.storage.disk_failures import full_disk, immutable, small_file_system
from tests.embedded.resilience import load_clients, timeouts
from tests.embedded.resilience.cluster_process import ClusterProcess, config_map, running
from tests.embedded.resilience.load_clients import PATH, Acknowledged, Watcher
from tests.embedded.resilience.test_crash_recovery import assert_consistent, list_config_maps, wait_for_watchers

StorageFailure = Callable[[pathlib.Path], contextlib.AbstractContextManager[object]]


@contextlib.contextmanager
def read_only(data: pathlib.Path) -> Iterator[None]:
    with immutable([data / "cluster.db", data / "cluster.db-wal"]):
        yield


@pytest.fixture(params=[full_disk, read_only])
def failure(request: pytest.FixtureRequest) -> StorageFailure:
    context: StorageFailure = request.param
    return context


@pytest.fixture
def cluster(tmp_path: pathlib.Path, failure: StorageFailure) -> Iterator[ClusterProcess]:
    file_system = small_file_system(tmp_path / "data") if failure is full_disk else contextlib.nullcontext()
    with file_system, running(tmp_path / "data") as process:
        yield process


async def assert_rejected(cluster: ClusterProcess, name: str) -> None:
    async with cluster.client() as client:
        json = {"Content-Type": "application/json"}
        async with client.post(PATH, data=config_map(name, text="x" * 200_000), headers=json) as response:
            status = await response.json()
    assert (response.status, status["kind"], status["reason"]) == (503, "Status", "ServiceUnavailable")
    assert f"{cluster.place.data}/cluster.db cannot be written: " in status["message"]
    assert int(response.headers["Retry-After"]) >= 1


async def test_writes_get_503_while_reads_and_watches_continue(cluster: ClusterProcess, failure: StorageFailure) -> None:
    seen, stop = Acknowledged(), asyncio.Event()
    watcher = Watcher(cluster, (await list_config_maps(cluster))[0])
    watching = asyncio.create_task(watcher.run())
    writing = [asyncio.create_task(load_clients.write(cluster, f"w{number}", seen, stop)) for number in range(3)]
    await timeouts.until(lambda: len(seen.revisions) > 50, "the first writes")
    with failure(cluster.place.data):
        await timeouts.until(lambda: seen.rejected > 5, "rejected writes")
        await assert_rejected(cluster, "large")
        revision, _ = await list_config_maps(cluster)
        assert revision >= max(seen.revisions)
        async with cluster.client() as client:
            async with client.get("/livez") as response:
                assert response.status == 200
            async with client.get("/readyz/storage") as response:
                assert response.status == 500
                assert "cannot be written" in await response.text()
    before = len(seen.revisions)
    await timeouts.until(lambda: len(seen.revisions) > before + 20, "writes after the disk has space again")
    stop.set()
    await asyncio.gather(*writing)
    await wait_for_watchers(seen, [watcher], [watching])
    watching.cancel()
    assert watcher.connections == 1
    delivered = {revision: name for revision, (_, name) in watcher.events.items()}
    assert seen.revisions.items() <= delivered.items()
    assert "Traceback" not in cluster.log()
    cluster.kill()
    cluster.start()
    assert_consistent(seen, (await list_config_maps(cluster))[1])
