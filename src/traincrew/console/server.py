"""The HTTP server of the console: checks the origin and the session of each request, turns errors into messages."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator

import msgspec
from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler

from traincrew import errors
from traincrew.console import (
    handlers,
    health,
    history_handlers,
    origins,
    pod_views,
    recording_handlers,
    security_headers,
    terminal,
    uploaded_kubeconfig,
)
from traincrew.console.contract.cluster import SessionInfo
from traincrew.console.contract.requests import Link, SignIn, SignInOptions
from traincrew.console.health import Health
from traincrew.console.links import Links
from traincrew.console.page_files import PageFiles
from traincrew.console.sessions import Session, Sessions
from traincrew.console.settings import ServerSettings
from traincrew.console.sign_in import ConsoleAuthenticator
from traincrew.console.stream import connection
from traincrew.console.view import problems
from traincrew.serving import limited_server, upgrades

log = logging.getLogger(__name__)

API = "/api/v1"
MAX_BODY = 3 * 1024 * 1024
MAX_SIGN_IN = 2 * uploaded_kubeconfig.MAX_BYTES
LOCAL_FINISH_SECONDS = 2.0
"""For requests that run when a console of this machine ends: its user waits for the end."""
"""Bytes of a request of somebody who is not signed in; JSON escapes some characters of a kubeconfig."""
_CSRF_PROTOCOL = "csrf."


class ConsoleServer:
    def __init__(
        self, authenticator: ConsoleAuthenticator, sessions: Sessions, page: PageFiles, settings: ServerSettings
    ) -> None:
        self._authenticator, self._sessions, self._page, self._settings = authenticator, sessions, page, settings
        self.health = Health(page)

    def application(self, links: Links | None = None) -> web.Application:
        """links: the console prints links, and gives others to the user who started it."""
        application = web.Application(middlewares=[_with_errors, self._from_own_page], client_max_size=MAX_BODY)
        router = application.router
        self.health.add_routes(router)
        router.add_route("GET", f"{API}/sign-in", self._sign_in_options)
        router.add_route("POST", f"{API}/session", self._sign_in)
        router.add_route("GET", f"{API}/session", self._session)
        router.add_route("DELETE", f"{API}/session", self._sign_out)
        if links is not None:
            router.add_route("POST", f"{API}/link", _link_handler(links))
        router.add_route("GET", f"{API}/stream", self._stream)
        router.add_route("GET", f"{API}{handlers.JOB}/replicas/{{replica}}/exec", self._terminal)
        for route in (*recording_handlers.ROUTES, *handlers.ROUTES, *history_handlers.ROUTES):
            router.add_route(route.method, API + route.path, self._handler(route))
        router.add_route("*", "/api/{path:.*}", _unknown_path)
        pod_views.install(application)
        router.add_route("GET", "/{path:.*}", self._page.serve)
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self._close_sockets)
        return application

    def _handler(self, route: handlers.Route) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            tried = route.tried.format(_job_name(request))
            session = self._require_session(request, request.headers.get("X-CSRF-Token", ""), tried)
            with session.acting():
                try:
                    return await route.handler(session.signed_in.console, request)
                except (errors.TraincrewError, ValueError) as error:
                    raise self._problem(session, error, tried) from error

        return handle

    def _problem(self, session: Session, error: Exception, tried: str) -> problems.Problem:
        rejected = session.signed_in.rejected
        if rejected is None or not isinstance(error, errors.Unauthorized):
            return problems.Problem(problems.of(error, tried))
        rejected.set()
        message = "the API server rejects the credentials of the session: they have expired or were revoked"
        return problems.problem("SignInRequired", 401, tried, message, self._authenticator.next_step)

    def _require_session(self, request: web.Request, csrf_token: str, tried: str) -> Session:
        session = self._find(request, csrf_token)
        reason = "there is no session, or it has expired"
        if session is not None:
            reason = self._authenticator.objection(request, session.signed_in.user)
        if session is None or reason:
            raise problems.problem("SignInRequired", 401, tried, reason, self._authenticator.next_step)
        limited_server.authenticated(request)
        return session

    def _find(self, request: web.Request, csrf_token: str) -> Session | None:
        return self._sessions.find(request.cookies.get(self._cookie_name(request), ""), csrf_token)

    async def _sign_in_options(self, request: web.Request) -> web.Response:
        return handlers.answer(SignInOptions(methods=list(self._authenticator.methods)))

    async def _sign_in(self, request: web.Request) -> web.Response:
        wanted = await handlers.body(request, SignIn, MAX_SIGN_IN)
        signed_in = await self._authenticator.sign_in(request, wanted)
        if (before := self._find(request, request.headers.get("X-CSRF-Token", ""))) is not None:
            await self._sessions.end(before)
        session = await self._sessions.open(signed_in)
        response = handlers.answer(_session_info(session))
        secure = self._is_secure(request)
        name = self._cookie_name(request)
        response.set_cookie(name, session.cookie, httponly=True, samesite="Strict", path="/", secure=secure)
        return response

    async def _session(self, request: web.Request) -> web.Response:
        session = self._require_session(request, request.headers.get("X-CSRF-Token", ""), "continue the session")
        return handlers.answer(_session_info(session))

    async def _sign_out(self, request: web.Request) -> web.Response:
        session = self._require_session(request, request.headers.get("X-CSRF-Token", ""), "sign out")
        await self._sessions.end(session)
        response = web.Response(status=204)
        response.del_cookie(self._cookie_name(request), path="/", secure=self._is_secure(request), httponly=True)
        return response

    async def _stream(self, request: web.Request) -> web.WebSocketResponse:
        session = self._require_session(request, _offered_token(request), "connect to the stream")
        async with self._socket(session, request, connection.PROTOCOL, connection.MAX_MESSAGE) as socket:
            await connection.StreamConnection(session.signed_in.console.services, socket).run()
        return socket

    async def _terminal(self, request: web.Request) -> web.WebSocketResponse:
        tried = f"open a terminal in {_job_name(request)}"
        session = self._require_session(request, _offered_token(request), tried)
        if "Origin" not in request.headers:  # browsers send it with every WebSocket
            raise problems.problem("ForeignOrigin", 403, tried, "the request has no Origin header")
        wanted, job = terminal.parse(request), handlers.job_of(request)
        async with self._socket(session, request, terminal.PROTOCOL, terminal.MAX_INPUT) as socket:
            await terminal.run(session.signed_in.console.services.client, job, wanted, socket)
            await socket.close()
        return socket

    @contextlib.asynccontextmanager
    async def _socket(
        self, session: Session, request: web.Request, protocol: str, max_message: int
    ) -> AsyncIterator[web.WebSocketResponse]:
        socket = web.WebSocketResponse(
            protocols=(protocol,), heartbeat=2 * connection.HEARTBEAT_SECONDS, max_msg_size=max_message, compress=False
        )
        await upgrades.accept_websocket(request, socket)
        with session.acting():
            session.sockets.add(socket)
            try:
                yield socket
            finally:
                session.sockets.discard(socket)

    async def _close_sockets(self, application: web.Application) -> None:
        for each in self._sessions.sockets():
            with contextlib.suppress(ConnectionError):
                await each.close(code=WSCloseCode.GOING_AWAY, message=b"the console stops")

    def _is_secure(self, request: web.Request) -> bool:
        """Whether the browser uses HTTPS. A proxy may end it."""
        url = self._settings.public_url
        return request.secure or (url.startswith("https:") and origins.at_public_address(request.host, url))

    def _cookie_name(self, request: web.Request) -> str:
        """Cookies are those of a host, not of a port: consoles on several ports must not share one.

        With the prefix __Host-, browsers accept it from this host alone: no other host of the domain can set one.
        """
        if self._is_secure(request):
            return "__Host-traincrew-console"
        port = request.host.rpartition(":")[2]
        return f"traincrew-console-{port if port.isdecimal() else 'default'}"

    @web.middleware
    async def _from_own_page(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in health.PATHS:  # a kubelet names the address of the pod
            return await handler(request)
        is_document = request.headers.get("Sec-Fetch-Mode") == "navigate" and not request.path.startswith("/api/")
        url = self._settings.public_url
        if reason := origins.objection(pod_views.checked_headers(request), public_url=url, is_document=is_document):
            raise problems.problem("ForeignOrigin", 403, _tried(request), reason, self._settings.where_to_open)
        return await handler(request)


def _link_handler(links: Links) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        if not links.may_ask(request.headers.get("Authorization", "").removeprefix("Bearer ")):
            message = "only the user who started the console gets links"
            raise problems.problem("SignInRequired", 401, "get a link", message, "Run `traincrew console`.")
        return handlers.answer(Link(token=links.new_token()))

    return handle


def _offered_token(request: web.Request) -> str:
    """The CSRF token of a WebSocket, which can have no headers of its own."""
    offered = [part.strip() for part in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    return next((each.removeprefix(_CSRF_PROTOCOL) for each in offered if each.startswith(_CSRF_PROTOCOL)), "")


def _session_info(session: Session) -> SessionInfo:
    user = session.signed_in.user
    return SessionInfo(csrf_token=session.csrf_token, method=session.signed_in.method, user=user.name, groups=list(user.groups))


def _job_name(request: web.Request) -> str:
    parts = request.match_info
    return f"{parts['kind']}/{parts['name']} in namespace {parts['namespace']}" if "kind" in parts else ""


async def _unknown_path(request: web.Request) -> web.StreamResponse:
    raise problems.problem("NotFound", 404, f"{request.method} {request.path[:200]}", "the console has no such path")


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in security_headers.ALWAYS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Content-Security-Policy", security_headers.DATA_POLICY)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["Server"] = "traincrew"


@web.middleware
async def _with_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPRequestEntityTooLarge:
        error: Exception = problems.problem("TooLarge", 413, _tried(request), f"the body is larger than {MAX_BODY} bytes")
    except web.HTTPMethodNotAllowed:
        error = problems.problem("NotFound", 405, _tried(request), "the path does not have this method")
    except web.HTTPException:
        raise
    except (errors.TraincrewError, ValueError) as found:
        error = found
    except ConnectionError:
        raise  # the page has disconnected
    except Exception as found:
        log.exception("request failed", extra={"path": request.path[:200]})
        error = found
    message = problems.of(error, _tried(request))
    return web.Response(body=msgspec.json.encode(message), status=message.code, content_type="application/json")


def _tried(request: web.Request) -> str:
    return f"{request.method} {request.path[:200]}"


@contextlib.asynccontextmanager
async def serving(
    application: web.Application,
    listening: socket.socket,
    context: ssl.SSLContext | None = None,
    finish_seconds: float = LOCAL_FINISH_SECONDS,
) -> AsyncIterator[None]:
    """Serve at a socket that listens. At the end no request is accepted, and those that run may finish for so long."""
    async with limited_server.serve(application, "", 0, context, listening=listening, shutdown_timeout=finish_seconds):
        yield
