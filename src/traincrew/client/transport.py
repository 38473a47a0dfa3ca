"""The HTTP session with one API server: each request is sent once, with the current credentials."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aiohttp
import multidict
import yarl

from traincrew import errors
from traincrew.client import connection, connector, retries, status_errors, transport_errors
from traincrew.client.content_types import JSON
from traincrew.client.current_credentials import CurrentCredentials, PreparedCredentials

KEEP_ALIVE = 60.0
"""Seconds for which an idle connection is kept. API servers close idle connections after 90 seconds or more."""


class HttpResponse(NamedTuple):
    code: int
    body: bytes
    retry_after: str | None


class HttpRequest(NamedTuple):
    method: str
    url: yarl.URL
    body: bytes | None = None
    content_type: str = JSON


class Transport:
    def __init__(self, target: connection.ServerConnection, component: str, limits: retries.RetryLimits) -> None:
        self._target, self._limits = target, limits
        self._credentials = CurrentCredentials(target, component)
        self._session: aiohttp.ClientSession | None = None
        self._connector: connector.Connector | None = None

    async def open(self) -> None:
        """Reads the credentials, so that invalid credentials are reported at once and not by the first request."""
        await self._credentials.open()
        self._connector = connector.Connector(keepalive_timeout=KEEP_ALIVE)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._limits.request_timeout, sock_connect=self._limits.connect_timeout),
            read_bufsize=2**18,
        )

    @property
    def is_closed(self) -> bool:
        return self._session is None or self._session.closed

    async def close(self) -> None:
        if self._session is not None and self._connector is not None:
            await self._session.close()
            await self._connector.abort()

    async def exchange(self, request: HttpRequest) -> HttpResponse:
        """The server's response. After a 401 the credentials are read again, and the request is repeated if they have changed."""
        started = asyncio.get_running_loop().time()
        used = await self._credentials.current(started)
        response = await self._send(request, used)
        if response.code == 401 and await self._credentials.have_changed(used, started):
            response = await self._send(request, await self._credentials.current(started))
        return response

    @contextlib.asynccontextmanager
    async def stream(self, request: HttpRequest, silence: float | None) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response whose body is streamed. silence: seconds without data after which the stream fails."""
        started = asyncio.get_running_loop().time()
        used = await self._credentials.current(started)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect_timeout, sock_read=silence)
        try:
            async with contextlib.AsyncExitStack() as stack:
                response = await stack.enter_async_context(self._start(request, used, timeout=timeout))
                if response.status == 401 and await self._credentials.have_changed(used, started):
                    used = await self._credentials.current(started)
                    response = await stack.enter_async_context(self._start(request, used, timeout=timeout))
                _probe_when_idle(response)
                stack.callback(_abort_if_unread, response)
                yield response
        except transport_errors.FAULTS as fault:
            raise self._unreachable(fault) from fault

    @contextlib.asynccontextmanager
    async def websocket(self, url: yarl.URL, protocols: tuple[str, ...]) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """A WebSocket. Raises ApiError if the server rejects the upgrade."""
        started = asyncio.get_running_loop().time()
        used = await self._credentials.current(started)
        try:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    socket = await stack.enter_async_context(self._upgrade(url, protocols, used))
                except aiohttp.WSServerHandshakeError as rejection:
                    if rejection.status != 401 or not await self._credentials.have_changed(used, started):
                        raise await self._upgrade_error(url, used, rejection) from rejection
                    socket = await stack.enter_async_context(
                        self._upgrade(url, protocols, await self._credentials.current(started))
                    )
                yield socket
        except transport_errors.FAULTS as fault:
            raise self._unreachable(fault) from fault

    def _upgrade(self, url: yarl.URL, protocols: tuple[str, ...], used: PreparedCredentials) -> Any:
        assert self._session is not None, "the client must be entered (async with) before use"
        headers = multidict.CIMultiDict(used.headers[JSON])
        headers.popall("Content-Type")
        return self._session.ws_connect(url, protocols=protocols, headers=headers, max_msg_size=0, **used.options)

    async def _upgrade_error(
        self, url: yarl.URL, used: PreparedCredentials, rejection: aiohttp.WSServerHandshakeError
    ) -> errors.ApiError:
        """Sends the request again without an upgrade: aiohttp does not return the body of a rejected upgrade."""
        response = await self._send(HttpRequest("GET", url), used)
        same = response.code == rejection.status or response.code in (403, 404)
        return status_errors.error(rejection.status, response.body if same else b"")

    def _start(self, request: HttpRequest, used: PreparedCredentials, **more: Any) -> Any:
        assert self._session is not None, "the client must be entered (async with) before use"
        return self._session.request(
            request.method,
            request.url,
            data=request.body,
            headers=used.headers[request.content_type],
            allow_redirects=False,
            **used.options,
            **more,
        )

    async def _send(self, request: HttpRequest, used: PreparedCredentials) -> HttpResponse:
        try:
            async with self._start(request, used) as response:
                body: bytes = await response.read()
                return HttpResponse(response.status, body, response.headers.get("Retry-After"))
        except transport_errors.FAULTS as fault:
            raise self._unreachable(fault) from fault

    def _unreachable(self, fault: Exception) -> errors.Unreachable:
        if transport_errors.is_tls(fault):
            self._credentials.expire()  # an authority or certificate may have been replaced
        return transport_errors.unreachable(fault, self._target.server)


def _probe_when_idle(response: aiohttp.ClientResponse) -> None:
    """Enables TCP keepalive: the kernel detects within a minute that the peer of an idle watch is gone."""
    transport = response.connection.transport if response.connection is not None else None
    raw = transport.get_extra_info("socket") if transport is not None else None
    if raw is None:
        return
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):  # not on every platform
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _abort_if_unread(response: aiohttp.ClientResponse) -> None:
    """aiohttp would start the TLS shutdown of the connection, and closing the client would not wait for the server's response."""
    if response.connection is not None and response.connection.transport is not None:
        connector.abort(response.connection.transport)
