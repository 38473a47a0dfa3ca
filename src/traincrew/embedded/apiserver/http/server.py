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
            self._serve, access_log=None, logger=http_connections.logger(), keepalive_timeout=IDLE,
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

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except api_errors.StatusError as refusal:
            return responses.refused(request, refusal)
        except api_errors.Bare as refusal:
            return responses.bare(refusal)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("request failed", extra={"method": request.method, "path": request.path})
            return responses.refused(request, api_errors.internal("the server met a fault of its own; its log says more"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self._gate.admit(request)
        raw, _, asked = request.raw_path.partition("?")
        path = request_info.decoded(raw)
        target = request_info.parse(path)
        if target is None:
            self._gate.authorize_path(user, request)
            return self._pages.page(request, path)
        served = self._handler.cluster.registry.find(target.group, target.version, target.resource)
        query = Query(request_info.query(asked) if asked else {})
        if served is None:
            wanted = attributes.of_request(request.method, path, query.flag("watch"), query.text("fieldSelector"))
            self._handler.cluster.authorize(user, wanted)
            raise self._pages.missing(path)
        call = Request(
            user, routing.verb(request.method, target, query), served, target.namespace, target.name, target.subresource, query,
            b"", request.headers.get("Content-Type", ""), request.headers.get("Accept", ""),
            request.headers.get("User-Agent", ""),
        )  # fmt: skip
        if (fault := routing.fault(request.method, call.verb, target, served)) is not None:
            self._handler.authorize(call)
            raise fault
        return await self._audited(request, call)

    async def _audited(self, request: web.BaseRequest, call: Request) -> web.StreamResponse:
        received = dt.datetime.now(dt.UTC)
        try:
            if call.subresource in STREAMED:
                self._handler.authorize(_as_stream(call, request))
                with self._held():
                    return await self._streamed(request, call)
            if call.verb == "watch":
                return await self._watched(request, call, received)
            if request.can_read_body:
                call = call._replace(body=await responses.read(request))
            response = await self._handled(request, call)
        except api_errors.StatusError as refusal:
            refusal.warnings = call.warnings
            self._audit.tell(request, call, refusal.code, received)
            raise
        self._audit.tell(request, call, response.status, received)
        return response

    async def _handled(self, request: web.BaseRequest, call: Request) -> web.StreamResponse:
        if call.verb == "list":
            return await responses.sent(request, await self._handler.pieces(call), call.warnings)
        return responses.whole(await self._handler.handle(call))

    async def _watched(self, request: web.BaseRequest, call: Request, received: dt.datetime) -> web.StreamResponse:
        watch = self._handler.watch(call)
        self._audit.tell(request, call, 200, received)
        try:
            with self._held():
                return await responses.poured(request, watch, call.warnings)
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


def _as_stream(call: Request, request: web.BaseRequest) -> Request:
    """exec, attach and port-forward are creations to RBAC, whichever method a client opens them with."""
    if call.subresource == "log":
        return call
    return call._replace(verb="create" if request.method in ("GET", "POST") else call.verb)
