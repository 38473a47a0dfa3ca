"""The API over HTTPS: who asks, for what, and the answer's form on the wire."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterator

from aiohttp import web

from traincrew import errors
from traincrew.apimachinery import api_errors
from traincrew.client import clock
from traincrew.embedded.apiserver.authz import attributes
from traincrew.embedded.apiserver.endpoints import routing
from traincrew.embedded.apiserver.endpoints.dispatch import Handler
from traincrew.embedded.apiserver.endpoints.non_resource_urls import Pages
from traincrew.embedded.apiserver.http import responses
from traincrew.embedded.apiserver.http.authentication_filter import Gate
from traincrew.embedded.apiserver.requests import request_info
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.embedded.serving import http_connections

log = logging.getLogger(__name__)

IDLE = 300.0
"""Seconds that a connection may stay without a request, also before its first."""
LONGEST_LINE = 2**20
"""Bytes of a request's first line, and of each header: as much as Go's server takes for all of them together."""
STREAMED = ("log", "exec", "attach", "portforward")

Streamed = Callable[[web.BaseRequest, Request], Awaitable[web.StreamResponse]]


class ApiServer:
    def __init__(self, handler: Handler, gate: Gate, pages: Pages, streamed: Streamed) -> None:
        self._handler, self._gate, self._pages, self._streamed = handler, gate, pages, streamed
        self._audit = handler.audit
        self._runner: web.ServerRunner | None = None
        self._open: set[asyncio.Task[object]] = set()
        """Watches and streams: what would keep the server from ending."""

    async def start(self, host: str, port: int, context: ssl.SSLContext) -> int:
        """Returns the port that it listens on."""
        # Not an Application: its router would take a tenth of a short request's time, to find the one route there is.
        server = web.Server(
            self._serve, access_log=None, logger=http_connections.connection_logger(), keepalive_timeout=IDLE,
            max_line_size=LONGEST_LINE, max_field_size=LONGEST_LINE,
        )  # fmt: skip
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=context, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            raise errors.SettingsError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        for task in self._open:
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, http_request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(http_request)
        except api_errors.StatusError as refusal:
            return responses.refused(http_request, refusal)
        except api_errors.PlainTextError as refusal:
            return responses.bare(refusal)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("request failed", extra={"method": http_request.method, "path": http_request.path})
            return responses.refused(
                http_request, api_errors.internal_error("the server met a fault of its own; its log says more")
            )

    async def _answer(self, http_request: web.BaseRequest) -> web.StreamResponse:
        user = self._gate.admit(http_request)
        raw, _, asked = http_request.raw_path.partition("?")
        path = request_info.decoded(raw)
        target = request_info.parse(path)
        if target is None:
            self._gate.authorize_path(user, http_request)
            return self._pages.page(http_request, path)
        info = self._handler.scope.registry.find(target.group, target.version, target.resource)
        query = Query(request_info.query(asked) if asked else {})
        if info is None:
            wanted = attributes.of_request(http_request.method, path, query.flag("watch"), query.text("fieldSelector"))
            self._handler.scope.authorize(user, wanted)
            raise self._pages.missing(path)
        request = Request(
            user, routing.verb(http_request.method, target, query), info, target.namespace, target.name, target.subresource,
            query, b"", http_request.headers.get("Content-Type", ""), http_request.headers.get("Accept", ""),
            http_request.headers.get("User-Agent", ""),
        )  # fmt: skip
        if (fault := routing.fault(http_request.method, request.verb, target, info)) is not None:
            self._handler.authorize(request)
            raise fault
        return await self._audited(http_request, request)

    async def _audited(self, http_request: web.BaseRequest, request: Request) -> web.StreamResponse:
        received = clock.now()
        try:
            if request.subresource in STREAMED:
                self._handler.authorize(_as_stream(request, http_request))
                with self._held():
                    return await self._streamed(http_request, request)
            if request.verb == "watch":
                return await self._watched(http_request, request, received)
            if http_request.can_read_body:
                request = request._replace(body=await responses.read(http_request))
            http_response = await self._handled(http_request, request)
        except api_errors.StatusError as refusal:
            refusal.warnings = request.warnings
            self._audit.tell(http_request, request, refusal.code, received)
            raise
        self._audit.tell(http_request, request, http_response.status, received)
        return http_response

    async def _handled(self, http_request: web.BaseRequest, request: Request) -> web.StreamResponse:
        if request.verb == "list":
            return await responses.sent(http_request, await self._handler.pieces(request), request.warnings)
        return responses.whole(await self._handler.handle(request))

    async def _watched(self, http_request: web.BaseRequest, request: Request, received: dt.datetime) -> web.StreamResponse:
        watch = self._handler.watch(request)
        self._audit.tell(http_request, request, 200, received)
        try:
            with self._held():
                return await responses.poured(http_request, watch, request.warnings)
        finally:
            watch.close()

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            yield
        finally:
            self._open.discard(task)


def _as_stream(request: Request, http_request: web.BaseRequest) -> Request:
    """exec, attach and port-forward are creations to RBAC, whichever method a client opens them with."""
    if request.subresource == "log":
        return request
    return request._replace(verb="create" if http_request.method in ("GET", "POST") else request.verb)
