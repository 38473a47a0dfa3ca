"""The API over HTTPS: who asks, for what, and the answer's form on the wire."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping

import msgspec
from aiohttp import web

from traincrew import errors
from traincrew.embedded import connections, refusals
from traincrew.embedded.api import paths
from traincrew.embedded.api.auditing import Audit
from traincrew.embedded.api.calls import Answer, Call
from traincrew.embedded.api.gate import Gate
from traincrew.embedded.api.handler import Handler
from traincrew.embedded.api.pages import Pages
from traincrew.embedded.api.queries import Query
from traincrew.embedded.api.watching import Watch, lines
from traincrew.embedded.streams import tunnel

log = logging.getLogger(__name__)

LARGEST_BODY = 3 * 1024 * 1024
IDLE = 300.0
"""Seconds that a connection may stay without a request, also before its first."""
STALLED = 60.0
"""Seconds that a client may let the server wait, with its body or with what it does not read."""
VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
STREAMED = ("log", "exec", "attach", "portforward")

Streamed = Callable[[web.Request, Call], Awaitable[web.StreamResponse]]


class ApiServer:
    def __init__(self, handler: Handler, gate: Gate, pages: Pages, streamed: Streamed, audit: Audit) -> None:
        self._handler, self._gate, self._pages, self._streamed, self._audit = handler, gate, pages, streamed, audit
        self._runner: web.AppRunner | None = None
        self._watches: set[asyncio.Task[object]] = set()

    async def start(self, host: str, port: int, context: ssl.SSLContext) -> int:
        """Returns the port that it listens on."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        app.on_shutdown.append(tunnel.hang_up)
        self._runner = web.AppRunner(app, access_log=None, logger=connections.logger(), keepalive_timeout=IDLE)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=context, shutdown_timeout=1.0, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            raise errors.SettingsError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        for task in self._watches:
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except refusals.Refusal as refusal:
            return _refused(refusal)
        except (ConnectionResetError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("request failed", extra={"method": request.method, "path": request.path})
            return _refused(refusals.internal("the server met a fault of its own; its log says more"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self._gate.admit(request)
        target = paths.parse(request.rel_url.raw_path)
        if target is None:
            self._gate.authorize_path(user, request)
            return self._pages.page(request)
        served = self._handler.cluster.registry.find(target.group, target.version, target.resource)
        if served is None:
            return self._pages.missing(request, target)
        if bool(target.namespace) > served.namespaced:
            raise refusals.no_such_path()
        query = Query(_multi(request))
        call = Call(
            user, _verb(request.method, target, query), served, target.namespace, target.name, target.subresource, query,
            b"", request.headers.get("Content-Type", ""), request.headers.get("Accept", ""),
            request.headers.get("User-Agent", ""),
        )  # fmt: skip
        return await self._audited(request, call)

    async def _audited(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        received = dt.datetime.now(dt.UTC)
        try:
            if call.subresource in STREAMED:
                self._handler.authorize(_as_stream(call, request))
                return await self._streamed(request, call)  # type: ignore[arg-type]
            if call.verb == "watch":
                return await self._watched(request, call, received)
            if request.can_read_body:
                call = call._replace(body=await _read(request))
            response = await self._handled(request, call)
        except refusals.Refusal as refusal:
            self._audit.tell(request, call, refusal.code, received)
            raise
        self._audit.tell(request, call, response.status, received)
        return response

    async def _handled(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        if call.verb == "list":
            return await _sent(request, await self._handler.pieces(call))
        return _whole(await self._handler.handle(call), request)

    async def _watched(self, request: web.BaseRequest, call: Call, received: dt.datetime) -> web.StreamResponse:
        watch = self._handler.watch(call)
        self._audit.tell(request, call, 200, received)
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        task = asyncio.current_task()
        if task is not None:
            self._watches.add(task)
        try:
            await response.prepare(request)
            await _pour(request, response, watch)
        except asyncio.CancelledError:
            # The server is going down; the client lists again elsewhere.
            pass
        finally:
            watch.close()
            if task is not None:
                self._watches.discard(task)
        return response


async def _pour(request: web.BaseRequest, response: web.StreamResponse, watch: Watch) -> None:
    async for batch in watch.events():
        await _write(request, response, lines(batch))
    await response.write_eof()


async def _write(request: web.BaseRequest, response: web.StreamResponse, part: bytes) -> None:
    """Ends the connection of a client that does not read: it holds what it was to be sent."""
    try:
        async with asyncio.timeout(STALLED):
            await response.write(part)
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionResetError("the client does not read") from None


def _verb(method: str, target: paths.Target, query: Query) -> str:
    verb = VERBS.get(method, "")
    if target.name and not target.watch:
        # A single object is watched through the collection, but old clients say it this way.
        return verb
    if verb == "get":
        return "watch" if target.watch or query.flag("watch") else "list"
    return "deletecollection" if verb == "delete" else verb


def _as_stream(call: Call, request: web.BaseRequest) -> Call:
    """exec, attach and port-forward are creations to RBAC, whichever method a client opens them with."""
    if call.subresource == "log":
        return call
    return call._replace(verb="create" if request.method in ("GET", "POST") else call.verb)


def _multi(request: web.BaseRequest) -> Mapping[str, list[str]]:
    query = request.rel_url.query
    return {key: query.getall(key) for key in query} if query else {}


async def _read(request: web.BaseRequest) -> bytes:
    if (request.content_length or 0) > LARGEST_BODY:
        raise _too_large()
    parts, size = [], 0
    try:
        async with asyncio.timeout(STALLED):
            async for part in request.content.iter_any():
                size += len(part)
                if size > LARGEST_BODY:
                    raise _too_large()
                parts.append(part)
    except TimeoutError:
        told = "Timeout: request did not complete within requested timeout - context deadline exceeded"
        raise refusals.Refusal(504, "Timeout", told) from None
    return b"".join(parts)


def _too_large() -> refusals.Refusal:
    return refusals.too_large(f"Request entity too large: limit is {LARGEST_BODY}")


def _whole(answer: Answer, request: web.BaseRequest) -> web.Response:
    response = web.Response(status=answer.code, body=answer.body, content_type=answer.content_type)
    response.headers["Cache-Control"] = "no-cache, private"
    for warning in answer.warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"')
    return response


async def _sent(request: web.BaseRequest, pieces: Iterator[bytes]) -> web.StreamResponse:
    """Small bodies whole, large ones in parts."""
    gathered, size = [], 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size > 2**18:
            break
    else:
        return web.Response(body=b"".join(gathered), content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    await _write(request, response, b"".join(gathered))
    for piece in pieces:
        await _write(request, response, piece)
        await asyncio.sleep(0)
    await response.write_eof()
    return response


def _refused(refusal: refusals.Refusal) -> web.Response:
    response = web.Response(status=refusal.code, body=msgspec.json.encode(refusal.status()), content_type="application/json")
    if refusal.retry_after:
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response
