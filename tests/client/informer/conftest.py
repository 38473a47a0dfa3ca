"""A resource on a real HTTP server: lists in pages, watches that can be cut or expire, versions that count."""

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


class Thing(meta.Struct):
    metadata: meta.Meta = meta.Meta()
    phase: str = ""


class Event(NamedTuple):
    version: int
    type: str
    object: bytes


class Things:
    """What the server holds; every change has the next version."""

    def __init__(self) -> None:
        self.version = 100
        self.held: dict[str, dict[str, Any]] = {}
        self.lists = 0
        self.watched_from: list[int] = []
        self.codes: list[int] = []
        """Answers, without a body, that the next requests get instead of what they ask for."""
        self.between_pages: Callable[[], Awaitable[None]] | None = None
        self._log: list[Event] = []
        self._forgotten = 0
        self._moved = asyncio.Condition()
        self._cuts = 0
        self._snapshot: tuple[int, list[dict[str, Any]]] = (0, [])

    async def put(self, name: str, phase: Any = "") -> bytes:
        """Makes or changes an object; returns it, as the answer to whoever did that."""
        self.version += 1
        known = self.held.get(name)
        fresh = {"name": name, "namespace": "ns", "uid": f"uid-{name}-{self.version}"}
        described = {**(known["metadata"] if known else fresh), "resourceVersion": str(self.version)}
        self.held[name] = {"metadata": described, "phase": phase}
        return await self._tell("MODIFIED" if known else "ADDED", self.held[name])

    async def remove(self, name: str) -> bytes:
        self.version += 1
        gone = self.held.pop(name)
        gone = {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self.version)}}
        return await self._tell("DELETED", gone)

    async def cut(self) -> None:
        """Ends every watch in the middle of a line."""
        async with self._moved:
            self._cuts += 1
            self._moved.notify_all()

    def forget_the_past(self) -> None:
        """Whoever asks for changes after a version that was seen until now is told that it expired."""
        self.version += 1
        self._forgotten = self.version

    def restore(self, version: int) -> None:
        """Goes back to a backup of an older version; what was held stays, with older versions."""
        self.version = version
        for number, each in enumerate(self.held.values()):
            each["metadata"]["resourceVersion"] = str(version - number)
        self._log.clear()
        self._forgotten = version

    async def standing(self, count: int) -> None:
        """Waits until so many watches have been begun."""
        async with asyncio.timeout(20), self._moved:
            await self._moved.wait_for(lambda: len(self.watched_from) >= count)

    async def _tell(self, kind: str, thing: dict[str, Any]) -> bytes:
        raw = json.dumps(thing).encode()
        async with self._moved:
            self._log.append(Event(self.version, kind, raw))
            self._moved.notify_all()
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
            self._snapshot = (self.version, list(self.held.values()))
        elif self.between_pages is not None:
            await self.between_pages()
        version, items = self._snapshot
        more = str(start + limit) if start + limit < len(items) else ""
        described = {"resourceVersion": str(version), "continue": more}
        return web.json_response({"metadata": described, "items": items[start : start + limit]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        after = int(request.query["resourceVersion"])
        if after < self._forgotten:
            status = {"kind": "Status", "message": "no", "reason": "Expired", "code": 410}
            return web.json_response(status, status=410)
        response = web.StreamResponse()
        await response.prepare(request)
        async with self._moved:
            self.watched_from.append(after)
            cuts = self._cuts
            self._moved.notify_all()
            while cuts == self._cuts:
                for event in [each for each in self._log if each.version > after]:
                    line = b'{"type":"%s","object":%s}\n' % (event.type.encode(), event.object)
                    await response.write(line)
                    after = event.version
                await self._moved.wait()
        assert request.transport is not None
        await response.write(b'{"type":"ADD')
        request.transport.close()
        return response


def thing(name: str, version: int | str, uid: str = "", phase: str = "", owner: str = "") -> Thing:
    owners = [meta.OwnerReference(uid=owner, controller=True)] if owner else []
    described = meta.Meta(
        name=name,
        namespace="ns",
        uid=uid or f"uid-{name}",
        resource_version=str(version),
        owner_references=owners,
    )
    return Thing(metadata=described, phase=phase)


class Vocabulary(NamedTuple):
    """What tests build with."""

    thing: Callable[..., Thing] = thing
    decode: Callable[[bytes], Thing] = msgspec.json.Decoder(Thing).decode


@pytest.fixture
def words() -> Vocabulary:
    return Vocabulary()


@pytest.fixture
async def things() -> Things:
    return Things()


@pytest.fixture
async def address(things: Things) -> AsyncIterator[connection.Connection]:
    app = web.Application()
    app.router.add_route("GET", "/{path:.*}", things.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield connection.Connection(f"http://127.0.0.1:{runner.addresses[0][1]}")
    await runner.cleanup()


@pytest.fixture
async def reader(address: connection.Connection) -> AsyncIterator[remote.RemoteClient]:
    limits = retries.Limits(page_size=3, first_delay=0.001, attempts=2)
    async with remote.RemoteClient(address, limits=limits) as client:
        yield client
