"""The garbage collector, the namespace controller, the CRD finalizer and the quota controller on a real API server."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.embedded.controllers.in_process_cluster import NAMESPACE, Cluster, Object, cluster, eventually, running_controllers

from traincrew.embedded.controllers.quotas import QUOTAS
from traincrew.model.resources import CONFIG_MAPS, CRDS, NAMESPACES, SECRETS, Resource

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


@pytest.fixture
async def found(tmp_path: pathlib.Path) -> AsyncIterator[Cluster]:
    async with cluster(tmp_path / "data") as started:
        yield started


async def create(found: Cluster, name: str, *owners: Object, resource: Resource = CONFIG_MAPS, block: bool = False) -> Object:
    references = [
        {
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block,
        }
        for owner in owners
    ]  # fmt: skip
    return await found.create(resource, {"metadata": {"name": name, "ownerReferences": references}})


def widget_crd() -> Object:
    schema: dict[str, Any] = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


async def names(found: Cluster, resource: Resource = CONFIG_MAPS) -> set[str]:
    return {each["metadata"]["name"] for each in await found.list(resource)} - {"kube-root-ca.crt"}


async def test_a_dependent_is_deleted_after_its_last_owner(found: Cluster) -> None:
    async with running_controllers(found):
        first, second = await create(found, "first"), await create(found, "second")
        await create(found, "dependent", first, second)
        await found.client.delete(CONFIG_MAPS, NAMESPACE, "first")
        seen = await eventually(
            lambda: found.get(CONFIG_MAPS, "dependent"), lambda seen: len(seen["metadata"]["ownerReferences"]) == 1
        )
        assert seen["metadata"]["ownerReferences"][0]["name"] == "second"
        await found.client.delete(CONFIG_MAPS, NAMESPACE, "second")
        await eventually(lambda: names(found), lambda left: not left)


async def test_owners_deleted_while_no_controller_ran_are_noticed(found: Cluster) -> None:
    owner = await create(found, "owner")
    await create(found, "dependent", owner)
    await found.client.delete(CONFIG_MAPS, NAMESPACE, "owner")
    async with running_controllers(found):
        await eventually(lambda: names(found), lambda left: not left)


async def test_foreground_deletion_waits_for_blocking_dependents(found: Cluster) -> None:
    async with running_controllers(found):
        owner = await create(found, "owner")
        await create(found, "dependent", owner, block=True)
        await found.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": ["example.com/keep"]}})
        await found.client.delete(CONFIG_MAPS, NAMESPACE, "owner", propagation="Foreground")
        await eventually(
            lambda: found.get(CONFIG_MAPS, "dependent"), lambda seen: seen["metadata"].get("deletionTimestamp") is not None
        )
        assert (await found.get(CONFIG_MAPS, "owner"))["metadata"]["finalizers"] == ["foregroundDeletion"]
        await found.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": None}})
        await eventually(lambda: names(found), lambda left: not left)


async def test_dependents_are_orphaned_also_by_a_controller_that_starts_later(found: Cluster) -> None:
    owner = await create(found, "owner")
    for number in range(20):
        await create(found, f"dependent-{number}", owner, resource=SECRETS)
    await found.client.delete(CONFIG_MAPS, NAMESPACE, "owner", propagation="Orphan")
    async with running_controllers(found):
        await eventually(lambda: found.is_gone(CONFIG_MAPS, "owner"))
        secrets = await found.list(SECRETS)
    assert len(secrets) == 20
    assert not any(each["metadata"].get("ownerReferences") for each in secrets)


async def test_custom_resources_are_collected_as_soon_as_their_crd_is_installed(found: Cluster) -> None:
    async with running_controllers(found):
        await found.create(CRDS, widget_crd())
        owner = await create(found, "owner")
        widget = await eventually(lambda: create(found, "widget", owner, resource=WIDGETS))
        await create(found, "dependent", widget)
        await found.client.delete(CONFIG_MAPS, NAMESPACE, "owner")
        await eventually(lambda: found.list(WIDGETS), lambda left: not left)
        await eventually(lambda: names(found), lambda left: not left)


async def test_a_dependent_of_an_unknown_kind_is_kept_until_the_kind_is_known(found: Cluster) -> None:
    async with running_controllers(found):
        unknown = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "uid": "u"}}
        await create(found, "dependent", unknown)
        owner = await create(found, "owner")
        await create(found, "other", owner)
        await found.client.delete(CONFIG_MAPS, NAMESPACE, "owner")
        await eventually(lambda: names(found), lambda left: left == {"dependent"})
        await found.create(CRDS, widget_crd())
        await eventually(lambda: names(found), lambda left: not left)


async def test_a_terminating_namespace_is_emptied_and_deleted(found: Cluster) -> None:
    async with running_controllers(found):
        await found.create(NAMESPACES, {"metadata": {"name": "temporary"}})
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
        await found.client.create(CONFIG_MAPS, "temporary", body)
        await found.client.delete(NAMESPACES, None, "temporary")
        await eventually(lambda: found.is_gone(NAMESPACES, "temporary"))


async def test_a_terminating_crd_takes_its_custom_resources_with_it(found: Cluster) -> None:
    async with running_controllers(found):
        await found.create(CRDS, widget_crd())
        await eventually(lambda: create(found, "widget", resource=WIDGETS))
        await found.client.delete(CRDS, None, "widgets.example.com")
        await eventually(lambda: found.is_gone(CRDS, "widgets.example.com"))


async def test_a_quotas_usage_follows_the_objects(found: Cluster) -> None:
    async def used() -> str:
        status: Object = (await found.get(QUOTAS, "q")).get("status", {})
        return str(status.get("used", {}).get("count/secrets"))

    async with running_controllers(found):
        await found.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"count/secrets": "5"}}})
        await eventually(used, lambda count: count == "0")
        await create(found, "s", resource=SECRETS)
        await eventually(used, lambda count: count == "1")
        await found.client.delete(SECRETS, NAMESPACE, "s")
        await eventually(used, lambda count: count == "0")
