"""`kill -9` of the whole process, again and again, under writes and watches."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import random
from collections.abc import AsyncIterator

import pytest
from tests.embedded.resilience import observers, patience
from tests.embedded.resilience.clusters import Process, running
from tests.embedded.resilience.observers import PATH, Acknowledged, Watcher

ROUNDS = 5
WRITERS = 4


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> contextlib.AbstractContextManager[Process]:
    return running(tmp_path / "data")


async def listed(cluster: Process) -> tuple[int, dict[str, str]]:
    async with cluster.client() as client, client.get(PATH) as answer:
        found = await answer.json()
    items = {item["metadata"]["name"]: item["data"].get("text", "") for item in found["items"]}
    return int(found["metadata"]["resourceVersion"]), items


@contextlib.asynccontextmanager
async def load(cluster: Process, seen: Acknowledged, watchers: list[Watcher]) -> AsyncIterator[None]:
    stop = asyncio.Event()
    writers = [asyncio.create_task(observers.write(cluster, f"w{number}", seen, stop)) for number in range(WRITERS)]
    watching = [asyncio.create_task(watcher.run()) for watcher in watchers]
    try:
        yield
        stop.set()
        await asyncio.gather(*writers)
        await caught_up(seen, watchers, watching)
    finally:
        for task in (*writers, *watching):
            task.cancel()


async def caught_up(seen: Acknowledged, watchers: list[Watcher], tasks: list[asyncio.Task[None]]) -> None:
    newest = max(seen.revisions)
    await patience.until(
        lambda: all(watcher.last >= newest for watcher in watchers) or any(task.done() for task in tasks), "the watchers"
    )
    for task in tasks:
        if task.done():
            task.result()


def check(seen: Acknowledged, items: dict[str, str]) -> None:
    missing = {name: text for name, text in seen.present.items() if items.get(name) != text}
    # The change of an object may have been made although its answer was lost.
    assert all(text.startswith("made") and items.get(name) == "changed" for name, text in missing.items()), missing
    assert not seen.deleted & items.keys()


async def until_more(seen: Acknowledged, more: int) -> None:
    wanted = len(seen.revisions) + more
    await patience.until(lambda: len(seen.revisions) >= wanted, "more writes")


async def test_what_was_acknowledged_is_there_and_watches_go_on_without_gap_or_double(
    cluster: contextlib.AbstractContextManager[Process],
) -> None:
    chance = random.Random(1)
    seen = Acknowledged()
    with cluster as process:
        revision, _ = await listed(process)
        url, token = process.url, process.token
        watchers = [Watcher(process, revision) for _ in range(3)]
        async with load(process, seen, watchers):
            for _ in range(ROUNDS):
                await until_more(seen, chance.randrange(1, 200))
                await asyncio.to_thread(process.kill)
                highest = max(seen.revisions)
                await asyncio.to_thread(process.start)
                assert (process.url, process.token) == (url, token)
                revision, _ = await listed(process)
                assert revision >= highest
        _, items = await listed(process)
        assert "Traceback" not in process.log()
    check(seen, items)
    for watcher in watchers:
        assert watcher.connections > ROUNDS
        told = {revision: name for revision, (_, name) in watcher.events.items()}
        assert seen.revisions.items() <= told.items()
        gone = {name for type, name in watcher.events.values() if type == "DELETED"}
        assert seen.deleted <= gone


def job(name: str) -> bytes:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "busybox"}]}}
    roles = {role: {"replicas": 1, "restartPolicy": "Never", "template": template} for role in ("Master", "Worker")}
    spec = {"pytorchReplicaSpecs": roles}
    return json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}).encode()


async def pods_of(cluster: Process, name: str) -> list[str]:
    query = {"labelSelector": f"training.kubeflow.org/job-name={name}"}
    async with cluster.client() as client, client.get("/api/v1/namespaces/default/pods", params=query) as answer:
        return sorted(item["metadata"]["name"] for item in (await answer.json())["items"])


async def test_jobs_and_their_operator_go_on(cluster: contextlib.AbstractContextManager[Process]) -> None:
    with cluster as process:
        for number in range(3):
            async with process.client() as client:
                path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
                async with client.post(path, data=job(f"j{number}"), headers={"Content-Type": "application/json"}) as answer:
                    assert answer.status == 201, await answer.text()
            # At once: the operator has had no time, or hardly any.
            await asyncio.to_thread(process.kill)
            await asyncio.to_thread(process.start)
            async with asyncio.timeout(60):
                while await pods_of(process, f"j{number}") != [f"j{number}-master-0", f"j{number}-worker-0"]:
                    pass
        assert process.stop() == 0
        assert "Traceback" not in process.log()
