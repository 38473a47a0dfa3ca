"""Secrets that the operator creates and never reads: its own are used, those of others are not, whenever it is killed."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.cluster.manifests import job
from tests.operator.operator_cluster import NAMESPACE, Cluster, FaultyClient, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew import errors
from traincrew.kinds import KINDS
from traincrew.model.resources import BATCH_JOBS, CONFIG_MAPS, SECRETS, Resource
from traincrew.validation import rbac_manifests

MPI = next(kind.resource for kind in KINDS if kind.kind == "MPIJob")
FOREIGN = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "j-ssh"}, "data": {"ssh-privatekey": "YQ=="}}


class DyingClient(FaultyClient):
    """The operator hears nothing after its first create of a Secret, as if it were killed."""

    async def create(
        self, resource: Resource, namespace: str | None, body: bytes, *, strict: bool = False, dry_run: bool = False
    ) -> bytes:
        response = await super().create(resource, namespace, body, strict=strict, dry_run=dry_run)
        if resource == SECRETS and not dry_run:
            await asyncio.Event().wait()
        return response


async def submit(running: Cluster) -> None:
    body = job("MPIJob", "j", "v2beta1", Launcher=1, Worker=1)
    await running.client.create(MPI._replace(version="v2beta1"), NAMESPACE, msgspec.json.encode(body))


async def create_foreign_secret(running: Cluster) -> None:
    await running.client.create(SECRETS, NAMESPACE, msgspec.json.encode(FOREIGN))


async def delete_secret(running: Cluster) -> None:
    await running.client.delete(SECRETS, NAMESPACE, "j-ssh")


async def status(running: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(await running.client.get(MPI, NAMESPACE, "j"))
    return found.get("status") or {}


async def has_started(running: Cluster) -> bool:
    try:
        await running.client.get(BATCH_JOBS, NAMESPACE, "j-launcher")
    except errors.NotFound:
        return False
    return await running.pods() == ["j-worker-0"]


async def is_blocked(running: Cluster) -> bool:
    """Nothing is created that would use the Secret, and the reason is known."""
    for resource, name in ((BATCH_JOBS, "j-launcher"), (CONFIG_MAPS, "j-config")):
        with contextlib.suppress(errors.NotFound):
            await running.client.get(resource, NAMESPACE, name)
            return False
    why = (await status(running)).get("why") or {}
    return await running.pods() == [] and why.get("reason") == "NameTaken" and "Secret j-ssh" in why["message"]


async def warnings(running: Cluster) -> list[str]:
    return [reason for reason, _ in await running.events() if reason in ("ErrResourceExists", "NameTaken")]


@contextlib.asynccontextmanager
async def killed_operator(running: Cluster, client: FaultyClient | None = None) -> AsyncIterator[None]:
    """An operator that is killed at the end of the block."""
    task = asyncio.create_task(running.new_operator(client or running.faulty_client()).run(asyncio.Event()))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_the_operator_may_not_read_secrets() -> None:
    (rule,) = [rule for rule in rbac_manifests.operator_rules() if "secrets" in rule["resources"]]
    assert rule["verbs"] == ["create"]


@in_virtual_time
async def test_a_restarted_operator_uses_its_own_secret_without_reading_it(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        async with killed_operator(running):
            await submit(running)
            await asyncio.sleep(2)
            assert await has_started(running)
        async with running.operator() as client:
            await running.client.delete(CONFIG_MAPS, NAMESPACE, "j-config")
            await asyncio.sleep(30)
            assert await running.client.get(CONFIG_MAPS, NAMESPACE, "j-config")
            assert {call.verb for call in client.calls if call.plural == "secrets"} == {"create"}
        assert await warnings(running) == []


@in_virtual_time
async def test_a_secret_created_by_an_operator_that_was_killed_at_once_is_used(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        await submit(running)
        async with killed_operator(running, DyingClient(running.control_plane.system_client("operator"))):
            await asyncio.sleep(2)
            assert await running.client.get(SECRETS, NAMESPACE, "j-ssh")
            assert not await has_started(running)
        async with running.operator():
            await asyncio.sleep(2)
            assert await has_started(running)
        assert await warnings(running) == []


@in_virtual_time
async def test_a_foreign_secret_is_not_used_by_any_operator_and_reported_once(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        await create_foreign_secret(running)
        async with killed_operator(running):
            await submit(running)
            await asyncio.sleep(1)
        for _ in range(2):
            async with killed_operator(running):
                await asyncio.sleep(60)
                assert await is_blocked(running)
        async with running.operator():
            await asyncio.sleep(300)
            assert await is_blocked(running)
        assert sorted(await warnings(running)) == ["ErrResourceExists", "NameTaken"]


@pytest.mark.parametrize("client", [FaultyClient, DyingClient])
@in_virtual_time
async def test_a_job_starts_when_the_foreign_secret_is_deleted(tmp_path: pathlib.Path, client: type[FaultyClient]) -> None:
    async with cluster(tmp_path) as running:
        await create_foreign_secret(running)
        await submit(running)
        async with killed_operator(running):
            await asyncio.sleep(30)
            assert await is_blocked(running)
        await delete_secret(running)
        async with killed_operator(running, client(running.control_plane.system_client("operator"))):
            await asyncio.sleep(120)
            assert await running.client.get(SECRETS, NAMESPACE, "j-ssh")
        async with running.operator():
            await asyncio.sleep(120)
            assert await has_started(running)
            found = await status(running)
            assert found["why"]["reason"] == "NotScheduled"
            assert "nameConflicts" not in found


@in_virtual_time
async def test_the_secret_of_an_earlier_job_is_awaited_without_a_warning(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, running.operator():
        await create_foreign_secret(running)
        await submit(running)
        await asyncio.sleep(5)
        assert not await has_started(running)
        await delete_secret(running)  # the garbage collector
        await asyncio.sleep(2)
        assert await has_started(running)
        assert await warnings(running) == []


@in_virtual_time
async def test_the_secret_of_a_job_of_an_older_operator_is_used(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        await submit(running)
        await create_foreign_secret(running)  # it belongs to the job, but nobody can read that
        conditions = [{"type": "Created", "status": "True"}]
        older = msgspec.json.encode({"status": {"conditions": conditions, "contract": "v2beta1"}})
        await running.client.patch(MPI, NAMESPACE, "j", older, subresource="status")
        async with running.operator():
            await asyncio.sleep(2)
            assert await has_started(running)
        assert await warnings(running) == []
