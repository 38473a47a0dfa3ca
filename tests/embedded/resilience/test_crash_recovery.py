"""The cluster process is killed with SIGKILL again and again while clients write and watch."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import random
from collections.abc import AsyncIterator

import pytest
from tests.embedded.resilience import load_clients, timeouts
from tests.embedded.resilience.cluster_process import ClusterProcess, running
from tests.embedded.resilience.load_clients import PATH, Acknowledged, Watcher

CRASHES = 5
WRITERS = 4


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> contextlib.AbstractContextManager[ClusterProcess]:
    return running(tmp_path / "data")


async def list_config_maps(cluster: ClusterProcess) -> tuple[int, dict[str, str]]:
    async with cluster.client() as client, client.get(PATH) as response:
        listed = await response.json()
    items = {item["metadata"]["name"]: item["data"].get("text", "") for item in listed["items"]}
    return int(listed["metadata"]["resourceVersion"]), items


@contextlib.asynccontextmanager
async def load(cluster: ClusterProcess, seen: Acknowledged, watchers: list[Watcher]) -> AsyncIterator[None]:
    stop = asyncio.Event()
    writers = [asyncio.create_task(load_clients.write(cluster, f"w{number}", seen, stop)) for number in range(WRITERS)]
    watching = [asyncio.create_task(watcher.run()) for watcher in watchers]
    try:
        yield
        stop.set()
        await asyncio.gather(*writers)
        await wait_for_watchers(seen, watchers, watching)
    finally:
        for task in (*writers, *watching):
            task.cancel()


async def wait_for_watchers(seen: Acknowledged, watchers: list[Watcher], tasks: list[asyncio.Task[None]]) -> None:
    newest = max(seen.revisions)
    await timeouts.until(
        lambda: all(watcher.last >= newest for watcher in watchers) or any(task.done() for task in tasks), "the watchers"
    )
    for task in tasks:
        if task.done():
            task.result()


def assert_consistent(seen: Acknowledged, items: dict[str, str]) -> None:
    missing = {name: text for name, text in seen.present.items() if items.get(name) != text}
    # An update may have been committed although its response was lost.
    assert all(text.startswith("created") and items.get(name) == "updated" for name, text in missing.items()), missing
    assert not seen.deleted & items.keys()


async def wait_for_writes(seen: Acknowledged, more: int) -> None:
    target = len(seen.revisions) + more
    await timeouts.until(lambda: len(seen.revisions) >= target, "more writes")


async def test_acknowledged_writes_survive_and_watches_resume_without_gap_or_duplicate(
    cluster: contextlib.AbstractContextManager[ClusterProcess],
) -> None:
    rng = random.Random(1)
    seen = Acknowledged()
    with cluster as process:
        revision, _ = await list_config_maps(process)
        url, token = process.url, process.token
        watchers = [Watcher(process, revision) for _ in range(3)]
        async with load(process, seen, watchers):
            for _ in range(CRASHES):
                await wait_for_writes(seen, rng.randrange(1, 200))
                await asyncio.to_thread(process.kill)
                highest = max(seen.revisions)
                await asyncio.to_thread(process.start)
                assert (process.url, process.token) == (url, token)
                revision, _ = await list_config_maps(process)
                assert revision >= highest
        _, items = await list_config_maps(process)
        assert "Traceback" not in process.log()
    assert_consistent(seen, items)
    for watcher in watchers:
        assert watcher.connections > CRASHES
        delivered = {revision: name for revision, (_, name) in watcher.events.items()}
        assert seen.revisions.items() <= delivered.items()
        gone = {name for type, name in watcher.events.values() if type == "DELETED"}
        assert seen.deleted <= gone


def job(name: str) -> bytes:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "busybox"}]}}
    roles = {role: {"replicas": 1, "restartPolicy": "Never", "template": template} for role in ("Master", "Worker")}
    spec = {"pytorchReplicaSpecs": roles}
    return json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}).encode()


async def pods_of(cluster: ClusterProcess, name: str) -> list[str]:
    query = {"labelSelector": f"training.kubeflow.org/job-name={name}"}
    async with cluster.client() as client, client.get("/api/v1/namespaces/default/pods", params=query) as response:
        return sorted(item["metadata"]["name"] for item in (await response.json())["items"])


async def test_the_operator_resumes_its_jobs(cluster: contextlib.AbstractContextManager[ClusterProcess]) -> None:
    with cluster as process:
        for number in range(3):
            async with process.client() as client:
                path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
                async with client.post(path, data=job(f"j{number}"), headers={"Content-Type": "application/json"}) as response:
                    assert response.status == 201, await response.text()
            # At once: the operator has had hardly any time.
            await asyncio.to_thread(process.kill)
            await asyncio.to_thread(process.start)
            async with asyncio.timeout(60):
                while await pods_of(process, f"j{number}") != [f"j{number}-master-0", f"j{number}-worker-0"]:
                    pass
        assert process.stop() == 0
        assert "Traceback" not in process.log()
