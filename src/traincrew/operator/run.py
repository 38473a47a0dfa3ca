"""The operator as a whole: from a client to a running controller, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import uuid

from traincrew import errors, settings
from traincrew.client import port
from traincrew.kinds.kind import JobKind
from traincrew.operator import serving
from traincrew.operator.controller import Controller
from traincrew.operator.execute import Executor
from traincrew.operator.leases import Elector
from traincrew.operator.metrics import Metrics
from traincrew.operator.observe import World
from traincrew.operator.telling import Teller
from traincrew.operator.workqueue import WorkQueue

logger = logging.getLogger(__name__)

LAST_WORDS = 5.0
"""Seconds for the events that are still to be posted when the operator stops."""


class LeadershipLost(errors.TraincrewError):
    """Another operator may be acting: this process must end at once."""


class Operator:
    """Everything that one operator process runs, on a client that it is given."""

    def __init__(self, client: port.Client, kinds: tuple[JobKind, ...], options: settings.Operator, metrics: Metrics) -> None:
        self._options = options
        self._metrics = metrics
        self._queue = WorkQueue()
        self._acting = False
        self.world = World(client, kinds, options, self._changed)
        self._teller = Teller(client)
        executor = Executor(client, self.world, self._teller, metrics)
        self._controller = Controller(self.world, executor, self._queue, self._teller, metrics)
        self._elector = Elector(client, options.election, f"{socket.gethostname()}_{uuid.uuid4()}")

    def missing(self) -> str:
        """What keeps the operator from being ready."""
        unsynced = [each.scope.resource.plural for each in self.world.informers if not each.synced.is_set()]
        return f"waiting for the first list of {', '.join(unsynced)}" if unsynced else ""

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; then finishes what is in hand and lets go of the lease."""
        health = serving.served(self._options.health_address, serving.health_app(self.missing))
        metrics = serving.served(self._options.metrics_address, serving.metrics_app(self._metrics))
        async with health, metrics, _background(*(each.run() for each in self.world.informers), self._teller.run()):
            try:
                await _first(stop.wait(), self._act())
            finally:
                self._queue.close()
            if not stop.is_set():
                raise LeadershipLost("the lease could not be renewed in time; another operator may be acting now")
            await self._wind_up()

    async def _act(self) -> None:
        """Works as long as this process leads."""
        if self._options.election.enabled:
            await self._elector.acquire()
        self._metrics.leading.set(1)
        await self.world.synced()
        known = self.world.keys()
        logger.info("working", extra={"jobs": len(known), "pid": os.getpid()})
        self._acting = True
        for key in known:
            self._queue.add(key)
        self._workers = [asyncio.create_task(self._controller.work()) for _ in range(self._options.workers)]
        try:
            if self._options.election.enabled:
                await self._elector.keep()
            else:
                await asyncio.Event().wait()
        finally:
            self._metrics.leading.set(0)

    async def _wind_up(self) -> None:
        self._queue.close()
        await asyncio.gather(*getattr(self, "_workers", ()), return_exceptions=True)
        await self._teller.drain(LAST_WORDS)
        await self._elector.release()
        logger.info("stopped")

    def _changed(self, key: object) -> None:
        if self._acting:
            self._queue.add(key)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def _background(*work):  # type: ignore[no-untyped-def]
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _first(*work) -> None:  # type: ignore[no-untyped-def]
    """Waits for the first of them to end, ends the others, and raises what it raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
