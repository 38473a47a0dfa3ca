"""Runs a console until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ipaddress
import signal
from collections.abc import AsyncIterator, Callable

from traincrew import errors
from traincrew.client import connection, retries
from traincrew.client.remote import RemoteClient
from traincrew.console import handlers, job_activity, job_cache, job_reader, origins, page_files, server, sessions, usage_sampler
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


@contextlib.asynccontextmanager
async def running(
    cluster: connection.ServerConnection, target: ConsoleTarget, listen: Listen, page: page_files.PageFiles
) -> AsyncIterator[str]:
    """Serve, and yield the link with a token that is valid once."""
    listen.check()
    async with RemoteClient(cluster, component="console", limits=LIMITS) as client:
        cache = job_cache.JobCache(client, target.namespace)
        services = topics.Services(
            client, cache, job_reader.JobReader(client, cache.activities), usage_sampler.UsageSampler(client)
        )
        known = sessions.Sessions()
        application = server.ConsoleServer(handlers.Console(services, target), known, page).application()
        activity = job_activity.JobActivity(client, cache)
        async with cache.running(), activity.running(), contextlib.AsyncExitStack() as stack:
            try:
                port = await stack.enter_async_context(server.serving(application, listen.host, listen.port))
            except OSError as error:
                raise errors.SettingsError(
                    f"cannot listen on {listen.host}:{listen.port}: {error.strerror or error}. Choose another port with "
                    "--port N; --port 0 selects a free one."
                ) from None
            with contextlib.suppress(errors.ApiError, TimeoutError):  # the page shows the error
                async with asyncio.timeout(FIRST_LIST_SECONDS):
                    await cache.first_state()
            host = f"[{listen.host}]" if ":" in listen.host else listen.host
            yield f"http://{host}:{port}/#token={known.new_token()}"


async def run(
    cluster: connection.ServerConnection, target: ConsoleTarget, listen: Listen, on_ready: Callable[[str], None]
) -> None:
    """Until SIGINT or SIGTERM."""
    page, stopped = page_files.PageFiles(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running(cluster, target, listen, page) as link:
        on_ready(link)
        await stopped.wait()
