"""The mirror pod of the operator, and the service of the API server."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from traincrew import errors, settings
from traincrew.app import cluster as app_cluster
from traincrew.embedded import control_plane, daemon, mirror_pod
from traincrew.model.resources import NAMESPACES, PODS, SERVICE_ACCOUNTS, SERVICES

LIMIT = 30.0


def options(data: pathlib.Path) -> control_plane.Options:
    return control_plane.Options(data, "127.0.0.1", 0, app_cluster.bootstrap_objects(settings.Cluster()), data / "log", "0")


@pytest.fixture
async def cluster(tmp_path: pathlib.Path) -> AsyncIterator[daemon.RunningCluster]:
    async with daemon.run(options(tmp_path)) as running:
        yield running


async def pod(cluster: daemon.RunningCluster) -> dict[str, Any] | None:
    try:
        raw = await cluster.control_plane.system_client("test").get(PODS, mirror_pod.NAMESPACE, mirror_pod.POD)
    except errors.NotFound:
        return None
    stored: dict[str, Any] = msgspec.json.decode(raw)
    return stored


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT):
        while not await holds():  # noqa: ASYNC110 - as a user would look
            await asyncio.sleep(0.02)


async def another_runs(cluster: daemon.RunningCluster, uid: str) -> bool:
    mirror_pod = await pod(cluster)
    return (
        mirror_pod is not None and mirror_pod["metadata"]["uid"] != uid and mirror_pod.get("status", {}).get("phase") == "Running"
    )


async def test_a_deleted_mirror_pod_is_created_again(cluster: daemon.RunningCluster) -> None:
    first = await pod(cluster)
    assert first is not None
    for _ in range(2):
        before = await pod(cluster)
        assert before is not None
        await cluster.control_plane.system_client("test").delete(PODS, mirror_pod.NAMESPACE, mirror_pod.POD)
        await until(lambda uid=before["metadata"]["uid"]: another_runs(cluster, uid))  # type: ignore[misc]
    last = await pod(cluster)
    assert last is not None
    assert last["status"]["startTime"] == first["status"]["startTime"], "the process was not restarted"


async def test_a_deleted_namespace_is_created_again_with_mirror_pod_and_service_accounts(cluster: daemon.RunningCluster) -> None:
    client, before = cluster.control_plane.system_client("test"), await pod(cluster)
    assert before is not None
    accounts = [msgspec.json.decode(each) async for page in client.pages(SERVICE_ACCOUNTS, "kubeflow") for each in page.items]
    await client.delete(NAMESPACES, None, mirror_pod.NAMESPACE)
    await until(lambda: another_runs(cluster, before["metadata"]["uid"]))
    for account in accounts:
        await client.get(SERVICE_ACCOUNTS, "kubeflow", account["metadata"]["name"])


async def test_the_kubernetes_service_points_to_the_listening_port(cluster: daemon.RunningCluster) -> None:
    service = msgspec.json.decode(await cluster.control_plane.system_client("test").get(SERVICES, "default", "kubernetes"))
    assert [each["targetPort"] for each in service["spec"]["ports"]] == [int(cluster.url.rpartition(":")[2])]


async def test_after_a_restart_the_kubernetes_service_is_the_same_and_points_to_the_new_port(tmp_path: pathlib.Path) -> None:
    found = []
    for _ in range(2):
        async with daemon.run(options(tmp_path)) as running:
            client = running.control_plane.system_client("test")
            found.append(msgspec.json.decode(await client.get(SERVICES, "default", "kubernetes")))
            assert [each["targetPort"] for each in found[-1]["spec"]["ports"]] == [int(running.url.rpartition(":")[2])]
    assert found[0]["metadata"]["uid"] == found[1]["metadata"]["uid"]


async def test_a_deleted_kubernetes_service_is_created_again(cluster: daemon.RunningCluster) -> None:
    client = cluster.control_plane.system_client("test")

    async def service() -> dict[str, Any] | None:
        try:
            stored: dict[str, Any] = msgspec.json.decode(await client.get(SERVICES, "default", "kubernetes"))
        except errors.NotFound:
            return None
        return stored

    async def exists() -> bool:
        return await service() is not None

    before = await service()
    for _ in range(2):
        await client.delete(SERVICES, "default", "kubernetes")
        await until(exists)
    after = await service()
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
