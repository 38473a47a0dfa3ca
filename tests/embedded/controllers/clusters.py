"""A cluster within the test's process, asked as its users would; its controllers come and go."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from traincrew import errors, settings
from traincrew.app import cluster as app_cluster
from traincrew.client import port
from traincrew.embedded.bootstrap import furnish
from traincrew.embedded.controllers.garbage_collector import Garbage
from traincrew.embedded.controllers.run import Controllers
from traincrew.embedded.daemon import Daemon, Options
from traincrew.model.resources import EVENTS, PODS, Resource

SPACE = "default"
LIMIT = 20.0

Object = dict[str, Any]
T = TypeVar("T")


class Cluster(NamedTuple):
    client: port.Client
    daemon: Daemon
    volumes: pathlib.Path

    async def make(self, resource: Resource, body: Object) -> Object:
        titled = {"kind": resource.kind, "apiVersion": resource.api_version, **body}
        place = SPACE if resource.namespaced else None
        found: Object = msgspec.json.decode(await self.client.create(resource, place, msgspec.json.encode(titled)))
        return found

    async def get(self, resource: Resource, name: str) -> Object:
        place = SPACE if resource.namespaced else None
        found: Object = msgspec.json.decode(await self.client.get(resource, place, name))
        return found

    async def all(self, resource: Resource) -> list[Object]:
        place = SPACE if resource.namespaced else None
        return [msgspec.json.decode(item) async for page in self.client.pages(resource, place) for item in page.items]

    async def patch(self, resource: Resource, name: str, body: Object, subresource: str = "") -> None:
        place = SPACE if resource.namespaced else None
        await self.client.patch(resource, place, name, msgspec.json.encode(body), subresource=subresource)

    async def gone(self, resource: Resource, name: str) -> bool:
        try:
            await self.get(resource, name)
        except errors.NotFound:
            return True
        return False

    async def told(self, name: str) -> set[str]:
        """The reasons of the events about it."""
        return {each["reason"] for each in await self.all(EVENTS) if each["involvedObject"]["name"] == name}

    async def end(self, name: str, phase: str) -> None:
        await self.patch(PODS, name, {"status": {"phase": phase}}, "status")


async def eventually(read: Callable[[], Awaitable[T]], holds: Callable[[T], object] = bool) -> T:
    seen: list[T] = []
    try:
        async with asyncio.timeout(LIMIT):
            while not (seen and holds(seen[-1])):
                if seen:
                    await asyncio.sleep(0.02)
                seen.append(await read())
    except TimeoutError:
        raise AssertionError(f"it did not come true; last seen: {seen[-1:]}") from None
    return seen[-1]


@contextlib.asynccontextmanager
async def cluster(data: pathlib.Path) -> AsyncIterator[Cluster]:
    furniture = app_cluster.furniture(settings.Cluster())
    daemon = Daemon(Options(data, "127.0.0.1", 0, furniture, data / "traincrew.log", "0"))
    try:
        await furnish(daemon.own_client("bootstrap"), daemon.options.furniture)
        yield Cluster(daemon.own_client("test"), daemon, data / "volumes")
    finally:
        await daemon.close()


@contextlib.asynccontextmanager
async def controlled(found: Cluster) -> AsyncIterator[None]:
    """While it is entered controllers run; it may be entered again."""
    garbage = Garbage(found.daemon.own_client("garbage-collector"), found.daemon.watchable)
    controllers = Controllers(found.daemon.own_client, found.volumes, period=0.2)
    tasks = [asyncio.create_task(each.run()) for each in (garbage, controllers)]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
