"""Servers in pods, shown in sandboxed frames of the page: `/view/SECRET/…` is forwarded to a port of a pod.

Whoever knows the secret sees what the pod serves; nothing of the session is needed or passed on.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import NamedTuple

from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

from traincrew import errors
from traincrew.client import port_forward_websocket
from traincrew.client.remote import RemoteClient
from traincrew.console.view import forwarded_http
from traincrew.model import resources
from traincrew.serving import limited_server

PREFIX = "/view/"
MAX_VIEWS = 200
MAX_REQUESTS = 32
"""Requests at a time: a page in a pod must not exhaust the connections of the console."""
SECONDS = 60.0


class PodPort(NamedTuple):
    client: RemoteClient
    namespace: str
    pod: str
    uid: str
    port: int


class StartedPods:
    """Pods that a console has started for one user. They are deleted at the end of the session, with its credentials."""

    def __init__(self, client: RemoteClient) -> None:
        self._client = client
        self._pods: dict[str, tuple[str, str]] = {}

    def add(self, port: PodPort) -> None:
        self._pods[port.uid] = (port.namespace, port.pod)

    async def delete(self) -> None:
        for uid, (namespace, name) in self._pods.items():
            with contextlib.suppress(errors.ApiError):  # the credentials have expired: the pod has a deadline
                await self._client.delete(resources.PODS, namespace, name, uid=uid)


class PodViews:
    def __init__(self) -> None:
        self._ports: dict[str, PodPort] = {}
        self._requests = asyncio.Semaphore(MAX_REQUESTS)

    def path(self, port: PodPort) -> str:
        """Where the page shows the pod: the same path as long as the pod exists."""
        for secret, known in self._ports.items():
            if known == port:
                return f"{PREFIX}{secret}/"
        while len(self._ports) >= MAX_VIEWS:
            del self._ports[next(iter(self._ports))]
        secret = secrets.token_urlsafe(32)
        self._ports[secret] = port
        return f"{PREFIX}{secret}/"

    def forget(self, uid: str) -> None:
        self._ports = {secret: port for secret, port in self._ports.items() if port.uid != uid}

    async def serve(self, request: web.Request) -> web.StreamResponse:
        port = self._ports.get(request.match_info["secret"])
        if port is None or port.client.is_closed:
            return web.Response(status=404, text="This view has ended. Open it again.\n", headers=forwarded_http.HEADERS)
        limited_server.authenticated(request)
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=forwarded_http.HEADERS)
        async with self._requests:
            try:
                return await _forward(request, port)
            except (errors.ApiError, ConnectionError, TimeoutError, ValueError) as error:
                return web.Response(status=502, text=f"The pod does not respond: {error}\n", headers=forwarded_http.HEADERS)


VIEWS = web.AppKey("VIEWS", PodViews)


def install(application: web.Application) -> None:
    views = PodViews()
    application[VIEWS] = views
    for method in ("GET", "POST", "OPTIONS"):
        application.router.add_route(method, f"{PREFIX}{{secret}}/{{path:.*}}", views.serve)


def checked_headers(request: web.Request) -> CIMultiDict[str] | CIMultiDictProxy[str]:
    """The headers by which requests of other pages are refused. Those of a view come from its own origin, `null`."""
    if not request.path.startswith(PREFIX):
        return request.headers
    hidden = ("origin", "sec-fetch-site")
    return CIMultiDict([(name, value) for name, value in request.headers.items() if name.lower() not in hidden])


async def _forward(request: web.Request, port: PodPort) -> web.StreamResponse:
    body = await request.read()
    target = request.raw_path.removeprefix(f"{PREFIX}{request.match_info['secret']}")
    head = forwarded_http.request_head(request.method, target, request.headers, len(body))
    async with port_forward_websocket.opened(port.client, port.namespace, port.pod, port.port) as connection:
        async with asyncio.timeout(SECONDS):
            await connection.write(head + body)
            raw, start = await _read_head(connection)
        found = forwarded_http.response_head(raw)
        return await _answer(request, found, _content(connection, start))


async def _read_head(connection: port_forward_websocket.PortConnection) -> tuple[bytes, bytes]:
    """The head of the response, and what was read of its content."""
    read = b""
    while b"\r\n\r\n" not in read:
        more = await connection.read()
        read += more
        if not more or len(read) > forwarded_http.MAX_HEAD:
            raise ValueError("the server in the pod does not answer with HTTP")
    raw, _, start = read.partition(b"\r\n\r\n")
    return raw, start


async def _content(connection: port_forward_websocket.PortConnection, start: bytes) -> AsyncIterator[bytes]:
    if start:
        yield start
    while more := await connection.read():
        yield more


async def _answer(request: web.Request, found: forwarded_http.ResponseHead, content: AsyncIterator[bytes]) -> web.StreamResponse:
    first = await anext(content, b"")
    changed = forwarded_http.with_prelude(first) if found.is_html and request.method == "GET" else first
    headers = forwarded_http.longer(found.headers, len(changed) - len(first))
    response = web.StreamResponse(status=found.status, headers={**headers, **forwarded_http.HEADERS})
    await response.prepare(request)
    if request.method != "HEAD":
        await response.write(changed)
        async for chunk in content:
            await response.write(chunk)
    await response.write_eof()
    return response
