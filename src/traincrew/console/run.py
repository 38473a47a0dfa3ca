"""Runs a console until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import pathlib
import signal
import socket
from collections.abc import AsyncIterator, Callable

from traincrew import errors
from traincrew.client import connection, retries
from traincrew.client.remote import RemoteClient
from traincrew.console import (
    handlers,
    job_activity,
    job_cache,
    job_reader,
    kept_logs,
    origins,
    page_files,
    server,
    sessions,
    usage_sampler,
)
from traincrew.console.settings import ConsoleTarget
from traincrew.console.stream import topics

LIMITS = retries.RetryLimits(attempts=2, retry_seconds=2.0, connect_timeout=5.0)
"""A person waits for each request, and the page shows at once that a cluster is away."""

FIRST_LIST_SECONDS = 5.0
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
            f"the console does not listen on {self.host}: it has no sign-in for other machines yet. Listen on 127.0.0.1 and use "
            "a tunnel: ssh -L PORT:127.0.0.1:PORT HOST."
        )

    def socket(self) -> socket.socket:
        """Raise SettingsError if the address is taken."""
        self.check()
        try:
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
    known: sessions.Sessions,
) -> AsyncIterator[None]:
    """Serve at a socket that listens."""
    async with RemoteClient(cluster, component="console", limits=LIMITS) as client:
        cache = job_cache.JobCache(client, target.namespace)
        kept = kept_logs.KeptLogs(client, pathlib.Path(target.log_root) if target.log_root else None)
        reader = job_reader.JobReader(client, cache.activities, kept)
        services = topics.Services(client, cache, reader, usage_sampler.UsageSampler(client), kept)
        application = server.ConsoleServer(handlers.Console(services, target), known, page).application()
        activity = job_activity.JobActivity(client, cache)
        async with cache.running(), activity.running(), server.serving(application, listening):
            with contextlib.suppress(errors.ApiError, TimeoutError):  # the page shows the error
                async with asyncio.timeout(FIRST_LIST_SECONDS):
                    await cache.first_state()
            yield


async def run(
    cluster: connection.ServerConnection,
    target: ConsoleTarget,
    listening: socket.socket,
    known: sessions.Sessions,
    on_ready: Callable[[], None],
) -> None:
    """Until SIGINT or SIGTERM."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running(cluster, target, listening, page_files.PageFiles(), known):
        on_ready()
        await stopped.wait()
