"""The composition of the one-machine cluster: the embedded API server, and the operator as one of its clients."""

from __future__ import annotations

import asyncio
import datetime as dt
import faulthandler
import os
import signal
from collections.abc import Callable

from traincrew import __version__, settings
from traincrew.admission import rights, schema
from traincrew.embedded import daemon
from traincrew.embedded.access import users
from traincrew.embedded.furnishing import Furniture
from traincrew.embedded.scheduling.outcome import on_one_machine
from traincrew.kinds import KINDS
from traincrew.operator.metrics import Metrics
from traincrew.operator.run import Clients, Operator
from traincrew.place import Place

LEAVE = signal.SIGUSR1
"""Ends the daemon alone: pods run on, and the next one adopts them."""
LONGEST_END = 30.0
"""Seconds from being told to stop until the process ends, beside those that pods get to end, and whatever hangs: all that was
acknowledged is on the disk already."""
OPERATOR = settings.Operator(metrics_address="0", health_address="0")


def furniture(options: settings.Cluster) -> Furniture:
    objects = [document for document in rights.documents() if document["kind"] != "Namespace"]
    return Furniture(options.namespaces, tuple(schema.crd(kind) for kind in KINDS), tuple(objects))


async def serve(options: settings.Cluster, place: Place, ready: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, _end, stop, place, LONGEST_END + (options.node.shutdown_grace if options.node else 0.0))
    leaving = asyncio.Event()
    loop.add_signal_handler(LEAVE, _leave, leaving, stop, place)
    chosen = daemon.Options(
        data=place.data,
        host=options.listen,
        port=options.port,
        furniture=furniture(options),
        log=place.log,
        version=__version__,
        audit_log=options.audit_log,
        controllers=options.controllers,
        placement=on_one_machine(options.overcommit) if options.node is not None and options.controllers else None,
        node=options.node,
    )
    async with daemon.running(chosen) as cluster:
        place.announce(cluster.url, dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))
        try:
            ready(cluster.url)
            await _with_operator(cluster.daemon, options, stop)
            if cluster.node is not None and not leaving.is_set():
                await cluster.node.stop()
        finally:
            place.withdraw()


def _leave(leaving: asyncio.Event, stop: asyncio.Event, place: Place) -> None:
    leaving.set()
    _end(stop, place, LONGEST_END)


def _end(stop: asyncio.Event, place: Place, longest: float) -> None:
    if not stop.is_set():
        stop.set()
        # Not a timer of the loop, for the loop may be what hangs; and what does is told in the log.
        log = os.open(place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        faulthandler.dump_traceback_later(longest, exit=True, file=log)


async def _with_operator(cluster: daemon.Daemon, options: settings.Cluster, stop: asyncio.Event) -> None:
    if not options.operator:
        await stop.wait()
        return
    # As on a cluster, the operator has the rights of its service account and no more.
    user = users.service_account("kubeflow", rights.NAME)
    client = cluster.client(user, "traincrew-operator")
    await Operator(Clients(client), KINDS, OPERATOR, Metrics()).run(stop)
