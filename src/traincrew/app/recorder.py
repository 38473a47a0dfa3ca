"""The composition root of the recorder of a cluster. It only reads: one replica records, and no lease is written."""

from __future__ import annotations

import asyncio

from traincrew import settings
from traincrew.app import event_loop, signals
from traincrew.client import connection
from traincrew.client.remote import RemoteClient
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.log_copier import LogCopier
from traincrew.history.recorder import Recorder
from traincrew.operator import http_endpoints


def run(location: str, options: settings.History, health_address: str, target: connection.ServerConnection) -> None:
    """Runs until SIGTERM or SIGINT; what was observed by then is written."""
    event_loop.run(_record(location, options, health_address, target))


async def _record(location: str, options: settings.History, health_address: str, target: connection.ServerConnection) -> None:
    stop = asyncio.Event()
    signals.listen(stop.set, *signals.STOP)
    thread = DatabaseThread(location, writable=True)
    try:
        await thread.call(lambda store: None)  # an address or a file that cannot be used is reported at once
        async with RemoteClient(target, component="recorder") as client:
            copier = LogCopier(client, thread, options.max_log_bytes)
            recorder = Recorder(client, thread, options, copier)
            health = http_endpoints.health_app(lambda: recorder.problem, list)
            async with recorder.running(), copier.running(), http_endpoints.serve(health_address, health):
                await stop.wait()
    finally:
        await thread.close()
