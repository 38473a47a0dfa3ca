"""Runs a console until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Callable

from traincrew import errors
from traincrew.client import connection
from traincrew.client.remote import RemoteClient
from traincrew.console import (
    console_services,
    handlers,
    health,
    origins,
    page_files,
    server,
    sessions,
    sign_in,
)
from traincrew.console.links import Links
from traincrew.console.settings import ConsoleTarget, ServerSettings
from traincrew.history.opened_recording import OpenedRecording
from traincrew.history.store import StoreAccess
from traincrew.serving import listening_sockets, serving_certificate

FIRST_LIST_SECONDS = 5.0
FINISH_SECONDS = 15.0
"""For requests that run when the console of many users ends. It has 30 seconds, of which --shutdown-delay takes five."""
"""The link is printed when the jobs are read, at the latest after this time."""


@dataclasses.dataclass(frozen=True)
class Listen:
    host: str = "127.0.0.1"
    port: int = 0

    def check(self) -> None:
        """Raise SettingsError unless the address is one of this machine."""
        if self.host in origins.LOOPBACK:
            return
        with contextlib.suppress(ValueError):
            if ipaddress.ip_address(self.host).is_loopback:
                return
        raise errors.SettingsError(
            f"the console does not listen on {self.host}: whoever has its link acts with your credentials. Let users sign in "
            "with their own (--authentication-mode token), or listen on 127.0.0.1 and use a tunnel: ssh -L "
            "PORT:127.0.0.1:PORT HOST."
        )

    def socket(self) -> socket.socket:
        """Raise SettingsError if the address is taken."""
        try:
            if self.host == "::":
                return listening_sockets.all_families(self.port)
            return socket.create_server((self.host, self.port), family=socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        except OSError as error:
            raise errors.SettingsError(
                f"cannot listen on {self.host}:{self.port}: {error.strerror or error}. Choose another port with "
                "--port N; --port 0 selects a free one."
            ) from None


@contextlib.asynccontextmanager
async def running(
    cluster: connection.ServerConnection,
    target: ConsoleTarget,
    listening: socket.socket,
    page: page_files.PageFiles,
    links: Links,
) -> AsyncIterator[None]:
    """Serve on this machine, at a socket that listens, with the credentials of the connection."""
    async with (
        _closing(target.history),
        RemoteClient(cluster, component="console", limits=console_services.LIMITS) as client,
        console_services.running(client, target) as services,
    ):
        known = sessions.Sessions()
        authenticator = sign_in.LinkAuthenticator(handlers.HandlerContext(services, target), links)
        application = server.ConsoleServer(authenticator, known, page, ServerSettings()).application(links)
        async with known.running(), server.serving(application, listening):
            with contextlib.suppress(errors.ApiError, TimeoutError):  # the page shows the error
                async with asyncio.timeout(FIRST_LIST_SECONDS):
                    await services.cache.first_state()
            yield


@contextlib.asynccontextmanager
async def showing(
    file: OpenedRecording, listening: socket.socket, page: page_files.PageFiles, links: Links
) -> AsyncIterator[str]:
    """Serve a recording file on this machine, without a cluster. Yields the path of its page. The file is closed at the end."""
    target = ConsoleTarget(server="", namespace="", has_cluster=False)
    async with console_services.without_cluster(target) as services:
        name, job = await services.opened.add(file), file.job
        known = sessions.Sessions()
        authenticator = sign_in.LinkAuthenticator(handlers.HandlerContext(services, target), links)
        application = server.ConsoleServer(authenticator, known, page, ServerSettings()).application(links)
        async with known.running(), server.serving(application, listening):
            yield f"/jobs/{job.namespace}/{job.kind}/{job.name}@{name}"


async def show(file: OpenedRecording, listening: socket.socket, links: Links, on_ready: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM. on_ready is called with the path of the page."""
    async with showing(file, listening, page_files.PageFiles(), links) as path:
        stopped = _stop_signal()
        on_ready(path)
        await stopped.wait()


async def run(
    cluster: connection.ServerConnection,
    target: ConsoleTarget,
    listening: socket.socket,
    links: Links,
    on_ready: Callable[[], None],
) -> None:
    """Until SIGINT or SIGTERM."""
    async with running(cluster, target, listening, page_files.PageFiles(), links):
        stopped = _stop_signal()
        on_ready()
        await stopped.wait()


@contextlib.asynccontextmanager
async def _closing(history: StoreAccess | None) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if history is not None:
            await history.close()


@dataclasses.dataclass(frozen=True)
class UserServer:
    """A console whose users sign in with credentials of their own."""

    authenticator: sign_in.ConsoleAuthenticator
    settings: ServerSettings = ServerSettings()
    limits: sessions.SessionLimits = sessions.SessionLimits()
    certificate: serving_certificate.ServingCertificate | None = None
    """None: HTTP."""
    history: StoreAccess | None = None
    """That of the target of the authenticator, which is closed at the end."""

    @contextlib.asynccontextmanager
    async def running(self, listening: socket.socket, page: page_files.PageFiles) -> AsyncIterator[health.Health]:
        known = sessions.Sessions(self.limits)
        console = server.ConsoleServer(self.authenticator, known, page, self.settings)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(_closing(self.history))
            context = await stack.enter_async_context(self.certificate.loaded()) if self.certificate is not None else None
            await stack.enter_async_context(known.running())
            await stack.enter_async_context(server.serving(console.application(), listening, context, FINISH_SECONDS))
            yield console.health

    async def run(self, listening: socket.socket, on_ready: Callable[[], None], drain_seconds: float) -> None:
        """Until SIGINT or SIGTERM. Then requests are served for drain_seconds more, until no new ones come."""
        async with self.running(listening, page_files.PageFiles()) as state:
            stopped = _stop_signal()
            on_ready()
            await stopped.wait()
            state.stopping = True
            await asyncio.sleep(drain_seconds)


def _stop_signal() -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    return stopped
