"""Informers of every resource on a real API server: they follow the CRDs, count objects and report changes."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator

from tests.embedded.controllers.in_process_cluster import NAMESPACE, WIDGETS, Cluster, cluster, eventually, widget_crd

from traincrew.embedded.controllers.metadata_informers import MetadataInformers
from traincrew.model.resources import CONFIG_MAPS, CRDS, Resource

Change = tuple[str, str, bool, bool]
"""Plural and name; whether the object existed before, and after."""


@contextlib.asynccontextmanager
async def informers(running: Cluster) -> AsyncIterator[tuple[MetadataInformers, list[Change]]]:
    control_plane, changes = running.control_plane, list[Change]()
    made = MetadataInformers(control_plane.system_client("informers"), control_plane.watchable)
    made.listeners.append(
        lambda resource, old, new: changes.append(
            (resource.plural, next(each.metadata.name for each in (new, old) if each), old is not None, new is not None)
        )
    )
    control_plane.registry.on_change.append(made.resources_changed)
    task = asyncio.create_task(made.run())
    try:
        await made.synced()
        yield made, changes
    finally:
        control_plane.registry.on_change.remove(made.resources_changed)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _count(made: MetadataInformers, resource: Resource) -> int | None:
    return made.count(resource, NAMESPACE)


async def test_objects_that_exist_at_the_start_are_known_once_synced(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running:
        await running.create(CONFIG_MAPS, {"metadata": {"name": "before"}})
        async with informers(running) as (made, changes):
            assert ("configmaps", "before", False, True) in changes
            known = made.count(CONFIG_MAPS, NAMESPACE)
            await running.create(CONFIG_MAPS, {"metadata": {"name": "after"}})
            await eventually(lambda: _count(made, CONFIG_MAPS), lambda count: count == (known or 0) + 1)
            assert ("configmaps", "after", False, True) in changes
            await running.client.delete(CONFIG_MAPS, NAMESPACE, "after")
            await eventually(lambda: _count(made, CONFIG_MAPS), lambda count: count == known)
            assert changes[-1] == ("configmaps", "after", True, False)
            assert made.count(CONFIG_MAPS, "elsewhere") == 0


async def test_a_resource_is_watched_as_long_as_its_crd_exists(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as running, informers(running) as (made, changes):
        assert made.count(WIDGETS, NAMESPACE) is None
        await running.create(CRDS, widget_crd())
        await eventually(lambda: _count(made, WIDGETS), lambda count: count == 0)
        await running.create(WIDGETS, {"metadata": {"name": "w"}})
        await eventually(lambda: _count(made, WIDGETS), lambda count: count == 1)
        made.resources = lambda: [each for each in running.control_plane.watchable() if each != WIDGETS]
        made.resources_changed()
        await eventually(lambda: _count(made, WIDGETS), lambda count: count is None)
        assert changes[-1] == ("widgets", "w", True, False), "objects of a resource that is no longer served are gone"
