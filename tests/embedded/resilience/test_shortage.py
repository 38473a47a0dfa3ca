"""A disk that fills up, and a data file that becomes read-only, below a cluster at work."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import Callable, Iterator

import pytest
from tests.embedded.apiserver.storage.shortage import full_disk, immutable, small_file_system
from tests.embedded.resilience import observers, patience
from tests.embedded.resilience.clusters import Process, config_map, running
from tests.embedded.resilience.observers import PATH, Acknowledged, Watcher
from tests.embedded.resilience.test_killed import caught_up, check, listed

Shortage = Callable[[pathlib.Path], contextlib.AbstractContextManager[object]]


@contextlib.contextmanager
def read_only(data: pathlib.Path) -> Iterator[None]:
    with immutable([data / "cluster.db", data / "cluster.db-wal"]):
        yield


@pytest.fixture(params=[full_disk, read_only])
def shortage(request: pytest.FixtureRequest) -> Shortage:
    found: Shortage = request.param
    return found


@pytest.fixture
def cluster(tmp_path: pathlib.Path, shortage: Shortage) -> Iterator[Process]:
    place = small_file_system(tmp_path / "data") if shortage is full_disk else contextlib.nullcontext()
    with place, running(tmp_path / "data") as process:
        yield process


async def refused(cluster: Process, name: str) -> None:
    async with cluster.client() as client:
        json = {"Content-Type": "application/json"}
        async with client.post(PATH, data=config_map(name, text="x" * 200_000), headers=json) as answer:
            status = await answer.json()
    assert (answer.status, status["kind"], status["reason"]) == (503, "Status", "ServiceUnavailable")
    assert f"{cluster.place.data}/cluster.db cannot be written: " in status["message"]
    assert int(answer.headers["Retry-After"]) >= 1


async def test_writes_are_refused_clearly_while_reads_and_watches_go_on(cluster: Process, shortage: Shortage) -> None:
    seen, stop = Acknowledged(), asyncio.Event()
    watcher = Watcher(cluster, (await listed(cluster))[0])
    watching = asyncio.create_task(watcher.run())
    writing = [asyncio.create_task(observers.write(cluster, f"w{number}", seen, stop)) for number in range(3)]
    await patience.until(lambda: len(seen.revisions) > 50, "the first writes")
    with shortage(cluster.place.data):
        await patience.until(lambda: seen.refused > 5, "refusals")
        await refused(cluster, "large")
        revision, _ = await listed(cluster)
        assert revision >= max(seen.revisions)
        async with cluster.client() as client, client.get("/readyz") as answer:
            assert answer.status == 200
    before = len(seen.revisions)
    await patience.until(lambda: len(seen.revisions) > before + 20, "writes after the relief")
    stop.set()
    await asyncio.gather(*writing)
    await caught_up(seen, [watcher], [watching])
    watching.cancel()
    assert watcher.connections == 1
    told = {revision: name for revision, (_, name) in watcher.events.items()}
    assert seen.revisions.items() <= told.items()
    assert "Traceback" not in cluster.log()
    cluster.kill()
    cluster.start()
    check(seen, (await listed(cluster))[1])
