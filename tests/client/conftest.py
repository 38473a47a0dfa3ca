"""A real HTTP server on loopback with scripted responses and network faults."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import pathlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest
from aiohttp import web

from traincrew.client import connection, credentials, remote, retries

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclasses.dataclass
class Recorded:
    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes


class ApiServer:
    """Sends the scripted responses in order, then the default response."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[Recorded] = []
        self.active = 0
        self.max_active = 0
        self.default: Handler | None = None
        self._responses: list[Handler] = []
        self._context = context
        self._changed = asyncio.Condition()
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def respond(self, *handlers: Handler) -> None:
        self._responses.extend(handlers)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits for a condition on the requests."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(condition)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[ApiServer]:
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._context)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append(
            Recorded(request.method, request.rel_url.raw_path, dict(request.query), request.headers.copy(), body)
        )
        handler = self._responses.pop(0) if self._responses else self.default or status(200)
        await self._count(1)
        try:
            return await handler(request)
        finally:
            await self._count(-1)

    async def _count(self, step: int) -> None:
        async with self._changed:
            self.active += step
            self.max_active = max(self.max_active, self.active)
            self._changed.notify_all()


def status(code: int, body: object = None, **headers: str) -> Handler:
    """A response. Keyword arguments are headers, with _ in place of -."""

    async def respond(request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        raw = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        return web.Response(status=code, body=raw, headers=named, content_type="application/json")

    return respond


def status_error(code: int, reason: str, message: str = "no", **details: Any) -> Handler:
    """A Status object as an API server sends it."""
    return status(
        code,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
            "details": details,
        },
    )


async def abort(request: web.Request) -> web.StreamResponse:
    """Reads the request and closes the connection."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def stream(*chunks: bytes, end: bool = True) -> Handler:
    """The body of a watch in chunks. end=False: the connection is aborted after the last chunk."""

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if not end:
            return await abort(request)
        await response.write_eof()
        return response

    return respond


@dataclasses.dataclass(frozen=True)
class Responses:
    """The builders of scripted responses."""

    status: Callable[..., Handler] = status
    status_error: Callable[..., Handler] = status_error
    stream: Callable[..., Handler] = stream
    abort: Handler = abort


@pytest.fixture
def responses() -> Responses:
    return Responses()


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer().running() as running:
        yield running


Connect = Callable[..., contextlib.AbstractAsyncContextManager[remote.RemoteClient]]


@pytest.fixture
def connect(server: ApiServer) -> Connect:
    """Builds a client of the server. Keyword arguments override limits."""

    def build(
        identity: credentials.Credentials | None = None,
        on_request: remote.OnRequest | None = None,
        target: connection.ServerConnection | None = None,
        **limits: Any,
    ) -> contextlib.AbstractAsyncContextManager[remote.RemoteClient]:
        destination = target or connection.ServerConnection(server.url, identity or credentials.ClientIdentity())
        fast = retries.RetryLimits(**{"first_delay": 0.001, "longest_delay": 0.01, **limits})
        return remote.RemoteClient(destination, component="tests", limits=fast, on_request=on_request)

    return build


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests do not depend on the proxies of the machine."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Callable[..., str]:
    """Writes a file in the directory of the test and returns its path."""

    def write(name: str, content: str | bytes | dict[str, Any], mode: int = 0o600) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return str(path)

    return write
