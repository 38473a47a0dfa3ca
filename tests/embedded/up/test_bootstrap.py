"""The bootstrap objects: created once, kept as users change them, replaced by another release."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from traincrew import errors
from traincrew.client import interfaces
from traincrew.embedded.bootstrap import CONFIG_MAP, FORMER_CONFIG_MAP, BootstrapObjects, bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.model.resources import CONFIG_MAPS, SERVICE_ACCOUNTS

Object = dict[str, Any]


def bootstrap_objects(release: str) -> BootstrapObjects:
    meta = {"name": "operator", "namespace": "kube-system", "labels": {"release": release}}
    return BootstrapObjects((), (), ({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},))


@contextlib.asynccontextmanager
async def started(data: pathlib.Path, release: str) -> AsyncIterator[interfaces.Client]:
    control_plane = ControlPlane(Options(data, "127.0.0.1", 0, bootstrap_objects(release), data / "log", "0"))
    try:
        await bootstrap(control_plane.system_client("bootstrap"), control_plane.options.bootstrap)
        yield control_plane.system_client("test")
    finally:
        await control_plane.close()


async def label(client: interfaces.Client) -> str | None:
    account: Object = msgspec.json.decode(await client.get(SERVICE_ACCOUNTS, "kube-system", "operator"))
    value: str | None = (account["metadata"].get("labels") or {}).get("release")
    return value


async def set_label(client: interfaces.Client, value: str) -> None:
    body = msgspec.json.encode({"metadata": {"labels": {"release": value}}})
    await client.patch(SERVICE_ACCOUNTS, "kube-system", "operator", body)


async def rename_config_map(client: interfaces.Client) -> None:
    """As a data directory of an earlier version has it."""
    config_map: Object = msgspec.json.decode(await client.get(CONFIG_MAPS, "kube-system", CONFIG_MAP))
    former = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": FORMER_CONFIG_MAP}, "data": config_map["data"]}
    await client.create(CONFIG_MAPS, "kube-system", msgspec.json.encode(former))
    await client.delete(CONFIG_MAPS, "kube-system", CONFIG_MAP)


async def test_changes_by_users_are_kept_until_another_release_starts(tmp_path: pathlib.Path) -> None:
    async with started(tmp_path, "1") as client:
        await set_label(client, "mine")
    async with started(tmp_path, "1") as client:
        assert await label(client) == "mine"
    async with started(tmp_path, "2") as client:
        assert await label(client) == "2"


async def test_a_deleted_object_is_created_again(tmp_path: pathlib.Path) -> None:
    async with started(tmp_path, "1") as client:
        await client.delete(SERVICE_ACCOUNTS, "kube-system", "operator")
    async with started(tmp_path, "1") as client:
        assert await label(client) == "1"


@pytest.mark.parametrize("release", ["1", "2"])
async def test_the_config_map_of_an_earlier_version_is_read_and_replaced(tmp_path: pathlib.Path, release: str) -> None:
    async with started(tmp_path, "1") as client:
        await set_label(client, "mine")
        await rename_config_map(client)
    async with started(tmp_path, release) as client:
        assert await label(client) == ("mine" if release == "1" else "2")
        await client.get(CONFIG_MAPS, "kube-system", CONFIG_MAP)
        with pytest.raises(errors.NotFound):
            await client.get(CONFIG_MAPS, "kube-system", FORMER_CONFIG_MAP)


async def test_a_migration_that_was_interrupted_is_completed(tmp_path: pathlib.Path) -> None:
    async with started(tmp_path, "1") as client:
        await set_label(client, "mine")
        former = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": FORMER_CONFIG_MAP}, "data": {"digests": "{}"}}
        await client.create(CONFIG_MAPS, "kube-system", msgspec.json.encode(former))
    async with started(tmp_path, "1") as client:
        assert await label(client) == "mine"
        with pytest.raises(errors.NotFound):
            await client.get(CONFIG_MAPS, "kube-system", FORMER_CONFIG_MAP)
