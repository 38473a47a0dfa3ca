"""The kubelet's HTTPS endpoints, for the API server: logs, exec, attach, port-forward and connections of this node's pods."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hmac
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol

from aiohttp import web

from traincrew.embedded.kubelet.runtime.streaming import ContainerNotFound, ExecOptions, PodNotFound, StreamingRuntime
from traincrew.embedded.kubelet.server import (
    container_logs,
    exec_sessions,
    exec_status,
    pod_dial,
    spdy_exec,
    spdy_port_forward,
    websocket_exec,
    websocket_port_forward,
)
from traincrew.serving import limited_server
from traincrew.serving.repeated_headers import repeated_header
from traincrew.serving.upgrades import HijackedResponse, is_websocket_upgrade

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Page = Callable[[], tuple[str, str]]
"""Returns the content type and the text of a page."""


class TokenReviewer(Protocol):
    """Reviews a token at the API server: whether the request is allowed; None: the token is not valid."""

    async def __call__(self, token: str, method: str, path: str) -> bool | None: ...


@dataclasses.dataclass(frozen=True)
class KubeletAuth:
    """Admits clients with the token, with a verified client certificate, or with a token that the API server accepts."""

    token: str = ""
    names: frozenset[str] = frozenset()
    """The common names that are admitted; empty: every certificate of the authority."""
    review: TokenReviewer | None = None
    """Reviews all other tokens."""

    async def authorize(self, request: web.Request) -> web.Response | None:
        """None if the request is allowed, else the error response."""
        if name := repeated_header(request.headers):
            return web.Response(status=400, text=f"the request has more than one {name} header")
        if self._admit(request):
            return None
        token = _bearer(request)
        allowed = await self.review(token, request.method, request.path) if token and self.review is not None else None
        if allowed is None:
            return web.Response(status=401, text="Unauthorized")
        return None if allowed else web.Response(status=403, text="Forbidden")

    def _admit(self, request: web.Request) -> bool:
        if self.token and hmac.compare_digest(_bearer(request).encode(), self.token.encode()):
            return True
        certificate = request.transport.get_extra_info("peercert") if request.transport else None
        if not certificate:
            return False
        subject = {name: value for part in certificate.get("subject", ()) for name, value in part}
        return not self.names or subject.get("commonName") in self.names


def _bearer(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def tls(certificate: str, key: str, client_authority: str = "") -> ssl.SSLContext:
    """Arguments are paths of PEM files. A client certificate is optional, but must be signed by the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_authority:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def application(containers: StreamingRuntime, auth: KubeletAuth, pages: Mapping[str, Page] | None = None) -> web.Application:
    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        if (error := await auth.authorize(request)) is not None:
            return error
        limited_server.authenticated(request)
        return await handler(request)

    app = web.Application(middlewares=[authenticate])
    endpoints = KubeletEndpoints(containers)
    app.router.add_get("/healthz", endpoints.healthz)
    app.router.add_get("/pods", endpoints.pods)
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", endpoints.logs)
    for method in ("GET", "POST"):
        for form in ("{namespace}/{pod}/{container}", "{namespace}/{pod}/{uid}/{container}"):
            app.router.add_route(method, f"/exec/{form}", endpoints.exec)
            app.router.add_route(method, f"/attach/{form}", endpoints.attach)
        for form in ("{namespace}/{pod}", "{namespace}/{pod}/{uid}"):
            app.router.add_route(method, f"/portForward/{form}", endpoints.port_forward)
    app.router.add_get("/dial/{namespace}/{pod}/{uid}", endpoints.dial)
    for path, page in (pages or {}).items():
        app.router.add_get(path, _page_handler(page))
    return app


def _page_handler(page: Page) -> Handler:
    async def respond(request: web.Request) -> web.StreamResponse:
        kind, text = page()
        return web.Response(body=text.encode(), headers={"Content-Type": kind})

    return respond


@contextlib.asynccontextmanager
async def serve(app: web.Application, host: str, port: int, context: ssl.SSLContext | None) -> AsyncIterator[int]:
    """Serves while the context is open, and yields the port. All connections are closed at the end."""
    # handler_cancellation: a client that disconnects while it follows a log must not leave a follower behind.
    async with limited_server.serve(app, host, port, context, handler_cancellation=True) as listening:
        yield listening


class KubeletEndpoints:
    def __init__(self, containers: StreamingRuntime) -> None:
        self._containers = containers

    async def healthz(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="ok")

    async def pods(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": self._containers.pods()})

    async def logs(self, request: web.Request) -> web.StreamResponse:
        return await container_logs.respond(request, self._containers)

    async def exec(self, request: web.Request) -> web.StreamResponse:
        io = _options(request)
        namespace, pod, container = await self._find(request, 'container not found ("{container}")')
        command = request.query.getall("command", [])
        task = exec_sessions.SessionRequest(
            start=lambda: self._containers.exec(namespace, pod, container, command, io),
            status=lambda code: exec_status.from_exit_code(command, code),
            error_prefix="error executing command in container",
        )
        return await _stream(request, io, task)

    async def attach(self, request: web.Request) -> web.StreamResponse:
        io = _options(request)
        namespace, pod, container = await self._find(request, "container {container} not found in pod {pod}_{namespace}")
        task = exec_sessions.SessionRequest(
            start=lambda: self._containers.attach(namespace, pod, container, io),
            status=lambda code: exec_status.SUCCESS,
            error_prefix="error attaching to container",
        )
        return await _stream(request, io, task)

    async def port_forward(self, request: web.Request) -> web.StreamResponse:
        namespace, pod, _ = await self._find(request, "pod not found")
        target = spdy_port_forward.PortForwardTarget(self._containers, namespace, pod, request.match_info.get("uid", ""))
        if is_websocket_upgrade(request):
            return await websocket_port_forward.over_websocket(request, target)
        return await spdy_port_forward.over_spdy(request, target)

    async def dial(self, request: web.Request) -> web.StreamResponse:
        namespace, pod, _ = await self._find(request, "pod not found")
        return await pod_dial.respond(request, functools.partial(self._containers.dial, namespace, pod))

    async def _find(self, request: web.Request, message: str) -> tuple[str, str, str]:
        info = request.match_info
        namespace, pod, container = info["namespace"], info["pod"], info.get("container", "")
        try:
            await self._containers.find(namespace, pod, container, info.get("uid", ""))
        except PodNotFound as error:
            raise web.HTTPNotFound(text="pod does not exist") from error
        except ContainerNotFound as error:
            text = message.format(namespace=namespace, pod=pod, container=container)
            raise web.HTTPInternalServerError(text=text) from error
        return namespace, pod, container


def _options(request: web.Request) -> ExecOptions:
    stdin, stdout, stderr, tty = (request.query.get(name) == "1" for name in ("input", "output", "error", "tty"))
    stderr = stderr and not tty
    if not (stdin or stdout or stderr):
        raise web.HTTPBadRequest(text="you must specify at least 1 of stdin, stdout, stderr")
    return ExecOptions(stdin, stdout, stderr, tty)


async def _stream(request: web.Request, io: ExecOptions, task: exec_sessions.SessionRequest) -> web.StreamResponse:
    if is_websocket_upgrade(request):
        async with websocket_exec.accept(request, io) as (peer, socket):
            await exec_sessions.run_session(peer, task)
        return socket
    with contextlib.suppress(spdy_exec.StreamsIncomplete, ConnectionError):
        async with spdy_exec.accept(request, io) as spdy_peer:
            await exec_sessions.run_session(spdy_peer, task)
    return HijackedResponse()
