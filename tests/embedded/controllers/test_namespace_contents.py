"""The default service account and the ConfigMap with the CA are in every active namespace, whatever clients delete."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.embedded.controllers.in_process_cluster import Cluster, cluster, eventually, running_controllers

from traincrew import errors
from traincrew.embedded.apiserver.storage.records import Key
from traincrew.model.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Resource

Object = dict[str, Any]
CONTENTS = [
    pytest.param(SERVICE_ACCOUNTS, "default", id="the default service account"),
    pytest.param(CONFIG_MAPS, "kube-root-ca.crt", id="the ConfigMap with the CA"),
]


@pytest.fixture
async def running(tmp_path: pathlib.Path) -> AsyncIterator[Cluster]:
    async with cluster(tmp_path / "data") as started:
        yield started


async def found(running: Cluster, resource: Resource, name: str, namespace: str = "default") -> Object | None:
    try:
        stored: Object = msgspec.json.decode(await running.client.get(resource, namespace, name))
    except errors.NotFound:
        return None
    return stored


def contents(stored: Object | None) -> Object:
    """Without what differs between an object and its successor."""
    assert stored is not None
    metadata = {key: stored["metadata"].get(key) for key in ("name", "namespace", "annotations", "labels")}
    return {**stored, "metadata": metadata}


@pytest.mark.parametrize(("resource", "name"), CONTENTS)
async def test_a_deleted_object_is_created_again(running: Cluster, resource: Resource, name: str) -> None:
    before = await found(running, resource, name)
    async with running_controllers(running):
        for _ in range(2):
            await running.client.delete(resource, "default", name)
            await eventually(lambda: found(running, resource, name))
    assert contents(await found(running, resource, name)) == contents(before)


@pytest.mark.parametrize(("resource", "name"), CONTENTS)
async def test_an_object_that_a_crash_left_out_is_created_at_the_next_start(
    running: Cluster, resource: Resource, name: str
) -> None:
    """As if the process had ended between the writes of the namespace and of its contents."""
    namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "n", "uid": "u"}}
    status = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    await running.control_plane.store.put(Key("namespaces", "", "n"), {**namespace, **status}, 0)
    assert await found(running, resource, name, "n") is None
    async with running_controllers(running):
        await eventually(lambda: found(running, resource, name, "n"))


async def test_a_changed_certificate_is_restored(running: Cluster) -> None:
    before = await found(running, CONFIG_MAPS, "kube-root-ca.crt")
    async with running_controllers(running):
        await running.patch(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "another", "more": "x"}})

        async def current() -> Object:
            return contents(await found(running, CONFIG_MAPS, "kube-root-ca.crt"))

        await eventually(current, lambda stored: stored == contents(before))


async def test_a_terminating_namespace_is_deleted_with_its_contents(running: Cluster) -> None:
    async with running_controllers(running):
        await running.client.create(NAMESPACES, None, msgspec.json.encode({"metadata": {"name": "n"}}))
        await running.client.delete(NAMESPACES, None, "n")
        await eventually(lambda: running.is_gone(NAMESPACES, "n"))
        for resource in (SERVICE_ACCOUNTS, CONFIG_MAPS):
            assert not [page.items async for page in running.client.pages(resource, "n") if page.items]


async def test_namespaces_that_are_created_together_have_their_contents_at_once(running: Cluster) -> None:
    async with running_controllers(running):
        for number in range(30):
            await running.client.create(NAMESPACES, None, msgspec.json.encode({"metadata": {"name": f"n{number}"}}))
            assert await found(running, SERVICE_ACCOUNTS, "default", f"n{number}")
            assert await found(running, CONFIG_MAPS, "kube-root-ca.crt", f"n{number}")
