"""The HTTP server of the console: checks the origin and the session of each request, turns errors into messages."""

from __future__ import annotations

import contextlib
import logging
import socket
import weakref
from collections.abc import AsyncIterator

import msgspec
from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler

from traincrew import errors
from traincrew.console import handlers, origins, security_headers, terminal
from traincrew.console.contract.cluster import SessionInfo
from traincrew.console.contract.requests import Link, SignIn
from traincrew.console.page_files import PageFiles
from traincrew.console.sessions import Session, Sessions
from traincrew.console.stream import connection
from traincrew.console.view import problems
from traincrew.serving import limited_server

log = logging.getLogger(__name__)

API = "/api/v1"
MAX_BODY = 3 * 1024 * 1024
_CSRF_PROTOCOL = "csrf."


class ConsoleServer:
    def __init__(self, console: handlers.Console, sessions: Sessions, page: PageFiles) -> None:
        self._console, self._sessions, self._page = console, sessions, page
        self._sockets: weakref.WeakSet[web.WebSocketResponse] = weakref.WeakSet()

    def application(self) -> web.Application:
        application = web.Application(middlewares=[_with_errors, _from_own_page], client_max_size=MAX_BODY)
        application.router.add_route("POST", f"{API}/session", self._sign_in)
        application.router.add_route("GET", f"{API}/session", self._session)
        application.router.add_route("DELETE", f"{API}/session", self._sign_out)
        application.router.add_route("POST", f"{API}/link", self._link)
        application.router.add_route("GET", f"{API}/stream", self._stream)
        application.router.add_route("GET", f"{API}{handlers.JOB}/replicas/{{replica}}/exec", self._terminal)
        for route in handlers.ROUTES:
            application.router.add_route(route.method, API + route.path, self._handler(route))
        application.router.add_route("*", "/api/{path:.*}", _unknown_path)
        application.router.add_route("GET", "/{path:.*}", self._page.serve)
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self._close_sockets)
        return application

    def _handler(self, route: handlers.Route) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            tried = route.tried.format(_job_name(request))
            self._require_session(request, request.headers.get("X-CSRF-Token", ""), tried)
            try:
                return await route.handler(self._console, request)
            except (errors.TraincrewError, ValueError) as error:
                raise problems.Problem(problems.of(error, tried)) from error

        return handle

    def _require_session(self, request: web.Request, csrf_token: str, tried: str) -> Session:
        session = self._sessions.find(request.cookies.get(_cookie_name(request), ""), csrf_token)
        if session is None:
            raise problems.problem(
                "SignInRequired",
                401,
                tried,
                "there is no session, or it has expired",
                "Run `traincrew console` and open the link that it prints.",
            )
        limited_server.authenticated(request)
        return session

    async def _sign_in(self, request: web.Request) -> web.Response:
        wanted = await handlers.body(request, SignIn)
        session = self._sessions.sign_in(wanted.token)
        if session is None:
            raise problems.problem(
                "SignInRequired",
                401,
                "sign in",
                "the link is not valid, or it was used already: each link is valid once",
                "Run `traincrew console` and open the link that it prints.",
            )
        response = handlers.answer(_session_info(session))
        response.set_cookie(
            _cookie_name(request), session.cookie, httponly=True, samesite="Strict", path="/", secure=request.secure
        )
        return response

    async def _link(self, request: web.Request) -> web.Response:
        if not self._sessions.may_ask(request.headers.get("Authorization", "").removeprefix("Bearer ")):
            raise problems.problem(
                "SignInRequired",
                401,
                "get a link",
                "only the user who started the console gets links",
                "Run `traincrew console`.",
            )
        return handlers.answer(Link(token=self._sessions.new_token()))

    async def _session(self, request: web.Request) -> web.Response:
        session = self._require_session(request, request.headers.get("X-CSRF-Token", ""), "continue the session")
        return handlers.answer(_session_info(session))

    async def _sign_out(self, request: web.Request) -> web.Response:
        session = self._require_session(request, request.headers.get("X-CSRF-Token", ""), "sign out")
        self._sessions.sign_out(session)
        response = web.Response(status=204)
        response.del_cookie(_cookie_name(request), path="/")
        return response

    async def _stream(self, request: web.Request) -> web.WebSocketResponse:
        self._require_session(request, _offered_token(request), "connect to the stream")
        socket = await self._socket(request, connection.PROTOCOL, connection.MAX_MESSAGE)
        await connection.StreamConnection(self._console.services, socket).run()
        return socket

    async def _terminal(self, request: web.Request) -> web.WebSocketResponse:
        tried = f"open a terminal in {_job_name(request)}"
        self._require_session(request, _offered_token(request), tried)
        if "Origin" not in request.headers:  # browsers send it with every WebSocket
            raise problems.problem("ForeignOrigin", 403, tried, "the request has no Origin header")
        wanted, job = terminal.parse(request), handlers.job_of(request)
        socket = await self._socket(request, terminal.PROTOCOL, terminal.MAX_INPUT)
        await terminal.run(self._console.services.client, job, wanted, socket)
        await socket.close()
        return socket

    async def _socket(self, request: web.Request, protocol: str, max_message: int) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(
            protocols=(protocol,), heartbeat=2 * connection.HEARTBEAT_SECONDS, max_msg_size=max_message, compress=False
        )
        await socket.prepare(request)
        self._sockets.add(socket)
        return socket

    async def _close_sockets(self, application: web.Application) -> None:
        for each in set(self._sockets):
            with contextlib.suppress(ConnectionError):
                await each.close(code=WSCloseCode.GOING_AWAY, message=b"the console stops")


def _offered_token(request: web.Request) -> str:
    """The CSRF token of a WebSocket, which can have no headers of its own."""
    offered = [part.strip() for part in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    return next((each.removeprefix(_CSRF_PROTOCOL) for each in offered if each.startswith(_CSRF_PROTOCOL)), "")


def _session_info(session: Session) -> SessionInfo:
    return SessionInfo(csrf_token=session.csrf_token)


def _cookie_name(request: web.Request) -> str:
    """Cookies are those of a host, not of a port: consoles on several ports must not share one."""
    port = request.host.rpartition(":")[2]
    return f"traincrew-console-{port if port.isdecimal() else 'default'}"


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


@web.middleware
async def _from_own_page(request: web.Request, handler: Handler) -> web.StreamResponse:
    is_document = request.headers.get("Sec-Fetch-Mode") == "navigate" and not request.path.startswith("/api/")
    if reason := origins.objection(request.headers, is_document=is_document):
        raise problems.problem("ForeignOrigin", 403, _tried(request), reason, "Open the link that `traincrew console` prints.")
    return await handler(request)


@contextlib.asynccontextmanager
async def serving(application: web.Application, listening: socket.socket) -> AsyncIterator[None]:
    """Serve at a socket that listens."""
    async with limited_server.serve(application, "", 0, listening=listening, shutdown_timeout=2.0):
        yield
