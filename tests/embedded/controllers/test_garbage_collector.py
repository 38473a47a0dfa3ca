"""The garbage collector, the namespace controller, the CRD finalizer and the quota controller on a real API server."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.embedded.controllers.in_process_cluster import (
    NAMESPACE,
    WIDGETS,
    Cluster,
    Object,
    cluster,
    eventually,
    running_controllers,
    widget_crd,
)

from traincrew.model.resources import CONFIG_MAPS, CRDS, NAMESPACES, RESOURCE_QUOTAS, SECRETS, Resource


@pytest.fixture
async def running(tmp_path: pathlib.Path) -> AsyncIterator[Cluster]:
    async with cluster(tmp_path / "data") as started:
        yield started


async def create(running: Cluster, name: str, *owners: Object, resource: Resource = CONFIG_MAPS, block: bool = False) -> Object:
    references = [
        {
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block,
        }
        for owner in owners
    ]  # fmt: skip
    return await running.create(resource, {"metadata": {"name": name, "ownerReferences": references}})


async def names(running: Cluster, resource: Resource = CONFIG_MAPS) -> set[str]:
    return {each["metadata"]["name"] for each in await running.list(resource)} - {"kube-root-ca.crt"}


async def test_a_dependent_is_deleted_after_its_last_owner(running: Cluster) -> None:
    async with running_controllers(running):
        first, second = await create(running, "first"), await create(running, "second")
        await create(running, "dependent", first, second)
        await running.client.delete(CONFIG_MAPS, NAMESPACE, "first")
        stored = await eventually(
            lambda: running.get(CONFIG_MAPS, "dependent"), lambda stored: len(stored["metadata"]["ownerReferences"]) == 1
        )
        assert stored["metadata"]["ownerReferences"][0]["name"] == "second"
        await running.client.delete(CONFIG_MAPS, NAMESPACE, "second")
        await eventually(lambda: names(running), lambda left: not left)


async def test_owners_deleted_while_no_controller_ran_are_noticed(running: Cluster) -> None:
    owner = await create(running, "owner")
    await create(running, "dependent", owner)
    await running.client.delete(CONFIG_MAPS, NAMESPACE, "owner")
    async with running_controllers(running):
        await eventually(lambda: names(running), lambda left: not left)


async def test_foreground_deletion_waits_for_blocking_dependents(running: Cluster) -> None:
    async with running_controllers(running):
        owner = await create(running, "owner")
        await create(running, "dependent", owner, block=True)
        await running.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": ["example.com/keep"]}})
        await running.client.delete(CONFIG_MAPS, NAMESPACE, "owner", propagation="Foreground")
        await eventually(
            lambda: running.get(CONFIG_MAPS, "dependent"), lambda stored: stored["metadata"].get("deletionTimestamp") is not None
        )
        assert (await running.get(CONFIG_MAPS, "owner"))["metadata"]["finalizers"] == ["foregroundDeletion"]
        await running.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": None}})
        await eventually(lambda: names(running), lambda left: not left)


async def test_dependents_are_orphaned_also_by_a_controller_that_starts_later(running: Cluster) -> None:
    owner = await create(running, "owner")
    for number in range(20):
        await create(running, f"dependent-{number}", owner, resource=SECRETS)
    await running.client.delete(CONFIG_MAPS, NAMESPACE, "owner", propagation="Orphan")
    async with running_controllers(running):
        await eventually(lambda: running.is_gone(CONFIG_MAPS, "owner"))
        secrets = await running.list(SECRETS)
    assert len(secrets) == 20
    assert not any(each["metadata"].get("ownerReferences") for each in secrets)


async def test_custom_resources_are_collected_as_soon_as_their_crd_is_installed(running: Cluster) -> None:
    async with running_controllers(running):
        await running.create(CRDS, widget_crd())
        owner = await create(running, "owner")
        widget = await eventually(lambda: create(running, "widget", owner, resource=WIDGETS))
        await create(running, "dependent", widget)
        await running.client.delete(CONFIG_MAPS, NAMESPACE, "owner")
        await eventually(lambda: running.list(WIDGETS), lambda left: not left)
        await eventually(lambda: names(running), lambda left: not left)


async def test_a_dependent_of_an_unknown_kind_is_kept_until_the_kind_is_known(running: Cluster) -> None:
    async with running_controllers(running):
        unknown = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u"}}
        await create(running, "dependent", unknown)
        owner = await create(running, "owner")
        await create(running, "other", owner)
        await running.client.delete(CONFIG_MAPS, NAMESPACE, "owner")
        await eventually(lambda: names(running), lambda left: left == {"dependent"})
        await running.create(CRDS, widget_crd())
        await eventually(lambda: names(running), lambda left: not left)


async def test_a_terminating_namespace_is_emptied_and_deleted(running: Cluster) -> None:
    async with running_controllers(running):
        await running.create(NAMESPACES, {"metadata": {"name": "temporary"}})
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
        await running.client.create(CONFIG_MAPS, "temporary", body)
        await running.client.delete(NAMESPACES, None, "temporary")
        await eventually(lambda: running.is_gone(NAMESPACES, "temporary"))


async def test_a_terminating_crd_takes_its_custom_resources_with_it(running: Cluster) -> None:
    async with running_controllers(running):
        await running.create(CRDS, widget_crd())
        await eventually(lambda: create(running, "widget", resource=WIDGETS))
        await running.client.delete(CRDS, None, "widgets.example.com")
        await eventually(lambda: running.is_gone(CRDS, "widgets.example.com"))


async def test_a_quotas_usage_follows_the_objects(running: Cluster) -> None:
    async def used() -> str:
        status: Object = (await running.get(RESOURCE_QUOTAS, "q")).get("status", {})
        return str(status.get("used", {}).get("count/secrets"))

    async with running_controllers(running):
        await running.create(RESOURCE_QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"count/secrets": "5"}}})
        await eventually(used, lambda count: count == "0")
        await create(running, "s", resource=SECRETS)
        await eventually(used, lambda count: count == "1")
        await running.client.delete(SECRETS, NAMESPACE, "s")
        await eventually(used, lambda count: count == "0")
