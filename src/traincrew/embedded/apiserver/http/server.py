"""The HTTPS server of the API: authentication, request info, audit, and the response on the wire."""

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
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.authz import attributes
from traincrew.embedded.apiserver.endpoints import routing
from traincrew.embedded.apiserver.endpoints.dispatch import Handler
from traincrew.embedded.apiserver.endpoints.non_resource_urls import NonResourceHandler
from traincrew.embedded.apiserver.http import responses
from traincrew.embedded.apiserver.http.authentication_filter import AuthenticationFilter
from traincrew.embedded.apiserver.requests import request_info
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.serving import http_connections, shutdown
from traincrew.serving.limited_listener import LimitedListener

log = logging.getLogger(__name__)

KEEPALIVE_SECONDS = 300.0
"""Seconds that a connection may stay open without a request."""
MAX_LINE_BYTES = 2**20
"""Limit of the request line and of each header. Go's server accepts as much for all of them together."""
STREAMED = ("log", "exec", "attach", "portforward", routing.PROXY)

Streamed = Callable[[web.BaseRequest, ApiRequest], Awaitable[web.StreamResponse]]


class ApiServer:
    def __init__(
        self, handler: Handler, authentication: AuthenticationFilter, non_resource: NonResourceHandler, streamed: Streamed
    ) -> None:
        self._handler, self._authentication, self._non_resource, self._streamed = handler, authentication, non_resource, streamed
        self._audit = handler.audit
        self._runner: web.ServerRunner | None = None
        self._listener: LimitedListener | None = None
        self._open: set[asyncio.Task[object]] = set()
        """Watches and streams. They are cancelled when the server stops."""

    async def start(self, host: str, port: int, context: ssl.SSLContext) -> int:
        """Returns the port that the server listens on. After a SettingsError it may be called again."""
        # Not an Application: its router would take a tenth of the time of a short request, for a single route.
        server = web.Server(
            self._serve, access_log=None, logger=http_connections.connection_logger(), keepalive_timeout=KEEPALIVE_SECONDS,
            max_line_size=MAX_LINE_BYTES, max_field_size=MAX_LINE_BYTES,
            auto_decompress=False,  # kube-apiserver reads bodies as they are, whatever their Content-Encoding
        )  # fmt: skip
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        self._listener = LimitedListener(server, context)
        try:
            return await self._listener.listen(host, port)
        except OSError as failure:
            await self._runner.cleanup()
            raise errors.SettingsError(f"cannot listen on {host}:{port}: {failure.strerror or failure}") from None

    async def stop(self) -> None:
        for task in self._open:
            task.cancel()
        if self._listener is not None:
            await self._listener.close()
        if self._runner is not None:
            await shutdown.shut_down(self._runner)

    async def _serve(self, http_request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._respond(http_request)
        except api_errors.StatusError as error:
            return responses.status_error(http_request, error)
        except api_errors.PlainTextError as error:
            return responses.plain_error(error)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("request failed", extra={"method": http_request.method, "path": http_request.path})
            return responses.status_error(http_request, api_errors.internal_error("see the log of the API server"))

    async def _respond(self, http_request: web.BaseRequest) -> web.StreamResponse:
        user = self._authentication.authenticate(http_request)
        if self._listener is not None and user.name != users.ANONYMOUS:
            self._listener.authenticated(http_request)
        raw, _, raw_query = http_request.raw_path.partition("?")
        path = request_info.decoded(raw)
        target = request_info.parse(path)
        if target is None:
            self._authentication.authorize_path(user, http_request)
            return await self._non_resource.page(http_request, path)
        info = self._handler.scope.registry.find(target.group, target.version, target.resource)
        query = Query(request_info.query(raw_query) if raw_query else {})
        if info is None:
            requested = attributes.of_request(http_request.method, path, query.flag("watch"), query.text("fieldSelector"))
            self._handler.scope.authorize(user, requested)
            raise self._non_resource.missing(path)
        request = ApiRequest(
            user, routing.verb(http_request.method, target, query), info, target.namespace, target.name, target.subresource,
            query, b"", http_request.headers.get("Content-Type", ""), http_request.headers.get("Accept", ""),
            http_request.headers.get("User-Agent", ""), self._audit.new_annotations(),
        )  # fmt: skip
        if (error := routing.routing_error(http_request.method, request.verb, target, info)) is not None:
            self._handler.authorize(request)
            raise error
        return await self._audited(http_request, request)

    async def _audited(self, http_request: web.BaseRequest, request: ApiRequest) -> web.StreamResponse:
        received = clock.now()
        try:
            if request.subresource in STREAMED:
                self._handler.authorize(_as_stream(request, http_request))
                with self._track_stream():
                    return await self._streamed(http_request, request)
            if request.verb == "watch":
                return await self._watched(http_request, request, received)
            if http_request.can_read_body:
                request = request._replace(body=await responses.read_body(http_request))
            http_response = await self._handled(http_request, request)
        except api_errors.StatusError as error:
            error.warnings = request.warnings
            self._audit.record(http_request, request, error.code, received)
            raise
        self._audit.record(http_request, request, http_response.status, received)
        return http_response

    async def _handled(self, http_request: web.BaseRequest, request: ApiRequest) -> web.StreamResponse:
        if request.verb == "list":
            return await responses.chunked(http_request, await self._handler.list_chunks(request), request.warnings)
        return responses.full(await self._handler.handle(request))

    async def _watched(self, http_request: web.BaseRequest, request: ApiRequest, received: dt.datetime) -> web.StreamResponse:
        watch = self._handler.watch(request)
        self._audit.record(http_request, request, 200, received)
        try:
            with self._track_stream():
                return await responses.watch_stream(http_request, watch, request.warnings)
        finally:
            watch.close()

    @contextlib.contextmanager
    def _track_stream(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            yield
        finally:
            self._open.discard(task)


def _as_stream(request: ApiRequest, http_request: web.BaseRequest) -> ApiRequest:
    """For RBAC, exec, attach and port-forward are creates, regardless of the method of the request."""
    if request.subresource in ("log", routing.PROXY):
        return request
    return request._replace(verb="create" if http_request.method in ("GET", "POST") else request.verb)
