"""A resource on a real HTTP server: paged lists, watches that can be aborted or expire, increasing versions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from aiohttp import web

from traincrew.client import connection, remote, retries
from traincrew.model import meta


class Widget(meta.Struct):
    metadata: meta.Meta = meta.Meta()
    phase: str = ""


class Event(NamedTuple):
    version: int
    type: str
    object: bytes


class WidgetServer:
    """The objects of the server. Every change increments the version."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, dict[str, Any]] = {}
        self.lists = 0
        self.watched_from: list[int] = []
        self.codes: list[int] = []
        """Status codes of the next responses, which have no body."""
        self.between_pages: Callable[[], Awaitable[None]] | None = None
        self._log: list[Event] = []
        self._oldest_version = 0
        self._changed = asyncio.Condition()
        self._aborts = 0
        self._snapshot: tuple[int, list[dict[str, Any]]] = (0, [])

    async def put(self, name: str, phase: Any = "") -> bytes:
        """Creates or updates an object. Returns the response."""
        self.version += 1
        existing = self.objects.get(name)
        initial = {"name": name, "namespace": "ns", "uid": f"uid-{name}-{self.version}"}
        metadata = {**(existing["metadata"] if existing else initial), "resourceVersion": str(self.version)}
        self.objects[name] = {"metadata": metadata, "phase": phase}
        return await self._publish("MODIFIED" if existing else "ADDED", self.objects[name])

    async def remove(self, name: str) -> bytes:
        self.version += 1
        gone = self.objects.pop(name)
        gone = {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self.version)}}
        return await self._publish("DELETED", gone)

    async def abort_watches(self) -> None:
        """Ends every watch in the middle of a line."""
        async with self._changed:
            self._aborts += 1
            self._changed.notify_all()

    def expire_versions(self) -> None:
        """Watches from an earlier version get the error Expired."""
        self.version += 1
        self._oldest_version = self.version

    def restore(self, version: int) -> None:
        """Restores a backup of an older version. The objects are kept, with older versions."""
        self.version = version
        for number, each in enumerate(self.objects.values()):
            each["metadata"]["resourceVersion"] = str(version - number)
        self._log.clear()
        self._oldest_version = version

    async def wait_for_watches(self, count: int) -> None:
        """Waits until this number of watches has started."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(lambda: len(self.watched_from) >= count)

    async def _publish(self, kind: str, widget: dict[str, Any]) -> bytes:
        raw = json.dumps(widget).encode()
        async with self._changed:
            self._log.append(Event(self.version, kind, raw))
            self._changed.notify_all()
        return raw

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.codes:
            return web.Response(status=self.codes.pop(0))
        if "watch" in request.query:
            return await self._watch(request)
        return await self._page(request)

    async def _page(self, request: web.Request) -> web.Response:
        start, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
        if not start:
            self.lists += 1
            self._snapshot = (self.version, list(self.objects.values()))
        elif self.between_pages is not None:
            await self.between_pages()
        version, items = self._snapshot
        more = str(start + limit) if start + limit < len(items) else ""
        metadata = {"resourceVersion": str(version), "continue": more}
        return web.json_response({"metadata": metadata, "items": items[start : start + limit]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        after = int(request.query["resourceVersion"])
        if after < self._oldest_version:
            status = {"kind": "Status", "message": "no", "reason": "Expired", "code": 410}
            return web.json_response(status, status=410)
        response = web.StreamResponse()
        await response.prepare(request)
        async with self._changed:
            self.watched_from.append(after)
            aborts = self._aborts
            self._changed.notify_all()
            while aborts == self._aborts:
                for event in [each for each in self._log if each.version > after]:
                    line = b'{"type":"%s","object":%s}\n' % (event.type.encode(), event.object)
                    await response.write(line)
                    after = event.version
                await self._changed.wait()
        assert request.transport is not None
        await response.write(b'{"type":"ADD')
        request.transport.close()
        return response


def build(name: str, version: int | str, uid: str = "", phase: str = "", owner: str = "") -> Widget:
    owners = [meta.OwnerReference(uid=owner, controller=True)] if owner else []
    metadata = meta.Meta(
        name=name,
        namespace="ns",
        uid=uid or f"uid-{name}",
        resource_version=str(version),
        owner_references=owners,
    )
    return Widget(metadata=metadata, phase=phase)


class WidgetFactory(NamedTuple):
    """Builds and decodes widgets."""

    build: Callable[..., Widget] = build
    decode: Callable[[bytes], Widget] = msgspec.json.Decoder(Widget).decode


@pytest.fixture
def factory() -> WidgetFactory:
    return WidgetFactory()


@pytest.fixture
async def widgets() -> WidgetServer:
    return WidgetServer()


@pytest.fixture
async def address(widgets: WidgetServer) -> AsyncIterator[connection.ServerConnection]:
    app = web.Application()
    app.router.add_route("GET", "/{path:.*}", widgets.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield connection.ServerConnection(f"http://127.0.0.1:{runner.addresses[0][1]}")
    await runner.cleanup()


@pytest.fixture
async def reader(address: connection.ServerConnection) -> AsyncIterator[remote.RemoteClient]:
    limits = retries.RetryLimits(page_size=3, first_delay=0.001, attempts=2)
    async with remote.RemoteClient(address, limits=limits) as client:
        yield client
