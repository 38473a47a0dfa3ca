"""An API server in the test's process, and its controllers, which can be started and stopped."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from traincrew import errors, settings
from traincrew.app import cluster as app_cluster
from traincrew.client import interfaces
from traincrew.embedded.bootstrap import bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.embedded.controllers.nodes.health import TIMING
from traincrew.embedded.controllers.run import Controllers, MetadataControllers
from traincrew.model.resources import EVENTS, PODS, Resource

NAMESPACE = "default"
LIMIT = 20.0
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")

Object = dict[str, Any]
T = TypeVar("T")


class Cluster(NamedTuple):
    client: interfaces.Client
    control_plane: ControlPlane
    volumes: pathlib.Path

    async def create(self, resource: Resource, body: Object) -> Object:
        titled = {"kind": resource.kind, "apiVersion": resource.api_version, **body}
        namespace = NAMESPACE if resource.namespaced else None
        running: Object = msgspec.json.decode(await self.client.create(resource, namespace, msgspec.json.encode(titled)))
        return running

    async def get(self, resource: Resource, name: str) -> Object:
        namespace = NAMESPACE if resource.namespaced else None
        running: Object = msgspec.json.decode(await self.client.get(resource, namespace, name))
        return running

    async def list(self, resource: Resource) -> builtins.list[Object]:
        namespace = NAMESPACE if resource.namespaced else None
        return [msgspec.json.decode(item) async for page in self.client.pages(resource, namespace) for item in page.items]

    async def patch(self, resource: Resource, name: str, body: Object, subresource: str = "") -> None:
        namespace = NAMESPACE if resource.namespaced else None
        await self.client.patch(resource, namespace, name, msgspec.json.encode(body), subresource=subresource)

    async def is_gone(self, resource: Resource, name: str) -> bool:
        try:
            await self.get(resource, name)
        except errors.NotFound:
            return True
        return False

    async def event_reasons(self, name: str) -> set[str]:
        return {each["reason"] for each in await self.list(EVENTS) if each["involvedObject"]["name"] == name}

    async def set_phase(self, name: str, phase: str) -> None:
        await self.patch(PODS, name, {"status": {"phase": phase}}, "status")


def widget_crd() -> Object:
    schema: dict[str, Any] = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


async def eventually(read: Callable[[], Awaitable[T]], holds: Callable[[T], object] = bool) -> T:
    values: list[T] = []
    try:
        async with asyncio.timeout(LIMIT):
            while not (values and holds(values[-1])):
                if values:
                    await asyncio.sleep(0.02)
                values.append(await read())
    except TimeoutError:
        raise AssertionError(f"the condition did not become true; last value: {values[-1:]}") from None
    return values[-1]


@contextlib.asynccontextmanager
async def cluster(data: pathlib.Path) -> AsyncIterator[Cluster]:
    objects = app_cluster.bootstrap_objects(settings.Cluster())
    control_plane = ControlPlane(Options(data, "127.0.0.1", 0, objects, data / "traincrew.log", "0"))
    try:
        await bootstrap(control_plane.system_client("bootstrap"), control_plane.options.bootstrap)
        yield Cluster(control_plane.system_client("test"), control_plane, data / "volumes")
    finally:
        await control_plane.close()


@contextlib.asynccontextmanager
async def running_controllers(running: Cluster) -> AsyncIterator[None]:
    """Runs the controllers inside the block; it may be entered again."""
    control_plane = running.control_plane
    metadata = MetadataControllers(control_plane.system_client, control_plane.watchable, control_plane.deletable)
    control_plane.registry.on_change.append(metadata.resources_changed)
    controllers = Controllers(
        control_plane.system_client, running.volumes, period=0.2, nodes=TIMING, authority=control_plane.pki.authority
    )
    tasks = [asyncio.create_task(each.run()) for each in (metadata, controllers)]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        control_plane.registry.on_change.remove(metadata.resources_changed)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
