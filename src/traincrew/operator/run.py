"""The operator as a whole: from a client to a running controller, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gc
import logging
import os
import socket
import uuid
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from traincrew import errors, settings
from traincrew.client import clock, port
from traincrew.client.leases import Elector
from traincrew.client.workqueue import WorkQueue
from traincrew.kinds.kind import JobKind
from traincrew.model.meta import Named
from traincrew.model.resources import Resource
from traincrew.operator import event_backfill, http_endpoints
from traincrew.operator.action_execution import Tools
from traincrew.operator.controller import Controller
from traincrew.operator.event_backfill import Doubt, Recall
from traincrew.operator.event_recorder import Teller
from traincrew.operator.executor import Executor
from traincrew.operator.job_key import JobKey
from traincrew.operator.metrics import Metrics
from traincrew.operator.observer import World
from traincrew.planner.events import implied

logger = logging.getLogger(__name__)

LAST_HANDS = 10.0
"""Seconds for what is in hand when the operator is told to stop."""
LAST_WORDS = 5.0
"""Seconds for the events that are still to be posted then."""


YOUNG_OBJECTS = 10_000
"""New objects before the garbage collector looks for cycles; there are few, and each look holds everything up."""


class LeadershipLost(errors.TraincrewError):
    """Another operator may be acting: this process must end at once."""


class Clients:
    """The ways to the API server. Renewing the lease must never wait behind other requests."""

    def __init__(self, work: port.Client, lease: port.Client | None = None) -> None:
        self.work = work
        self.lease = lease or work


class Operator:
    """Everything that one operator process runs, on clients that it is given."""

    def __init__(self, clients: Clients, kinds: tuple[JobKind, ...], options: settings.Operator, metrics: Metrics) -> None:
        self._client = clients.work
        self._options = options
        self._metrics = metrics
        self._queue: WorkQueue[JobKey] = WorkQueue()
        self._acting = False
        self.world = World(clients.work, kinds, options, self)
        self._teller = Teller(clients.work, lambda: self._acting and len(self._queue) > 0)
        self._recall = Recall(clients.work, self._teller, options.namespace)
        executor = Executor(Tools(clients.work, self.world, self._teller, metrics, self._recall))
        self._controller = Controller(self.world, executor, self._queue, self._teller, metrics)
        self._elector = Elector(clients.lease, options.election, f"{socket.gethostname()}_{uuid.uuid4()}")

    def missing(self) -> str:
        """What keeps the operator from being ready."""
        unsynced = [each.scope.resource.plural for each in self.world.informers if not each.synced.is_set()]
        if unsynced:
            return f"waiting for the first list of {', '.join(unsynced)}"
        absent = [each for each in self.world.informers if isinstance(each.failure, errors.NotFound)]
        if len(absent) >= len(self.world.kinds):
            return "no kind of job is installed on this cluster: apply what `traincrew manifests crds` prints"
        return ""

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; then finishes what is in hand and lets go of the lease."""
        health = http_endpoints.served(self._options.health_address, http_endpoints.health_app(self.missing))
        metrics = http_endpoints.served(self._options.metrics_address, http_endpoints.metrics_app(self._metrics))
        async with health, metrics:
            # None of the others ends by itself: if one does, the operator is blind or dumb and must not go on.
            ears = (each.run() for each in self.world.informers)
            await _first(self._live(stop), self._teller.run(), self._recall.run(), *ears)
        logger.info("stopped")

    async def _live(self, stop: asyncio.Event) -> None:
        async with self._elected(stop) as lost:
            await _first(stop.wait(), self.world.synced(), lost())
            if stop.is_set():
                return
            async with self._working() as workers:
                await _first(stop.wait(), lost(), _one_ends(workers))
                self._acting = False
                self._queue.shut_down()
                await _first(_all_end(workers, LAST_HANDS), lost())
            await self._teller.drain(LAST_WORDS)

    @contextlib.asynccontextmanager
    async def _elected(self, stop: asyncio.Event) -> AsyncIterator[Any]:
        """Inside, this process leads (or has been told to stop); what is yielded raises when that is over."""
        if not self._options.election.enabled:
            yield asyncio.Event().wait
            return
        keeping: asyncio.Task[None] | None = None

        async def lost() -> None:
            if keeping is None:
                await asyncio.Event().wait()
            else:
                await asyncio.shield(keeping)
                raise LeadershipLost("the lease could not be renewed in time; another operator may be acting now")

        try:
            await _first(stop.wait(), self._elector.acquire())
            if not stop.is_set():
                keeping = asyncio.create_task(self._elector.keep())
            yield lost
        finally:
            if keeping is not None:
                await _cancelled(keeping)
            await self._elector.release()

    @contextlib.asynccontextmanager
    async def _working(self) -> AsyncIterator[list[asyncio.Task[None]]]:
        _rest_memory()
        known = self.world.keys()
        logger.info("working", extra={"jobs": len(known), "pid": os.getpid()})
        self._doubt_what_is_recent(clock.now())
        self._acting = True
        for key in known:
            self._queue.add(key)
        workers = [asyncio.create_task(self._controller.work()) for _ in range(self._options.workers)]
        self._metrics.leading.set(1)
        try:
            yield workers
        finally:
            self._metrics.leading.set(0)
            self._acting = False
            await _cancelled(*workers)

    def _doubt_what_is_recent(self, now: dt.datetime) -> None:
        """Whoever acted before may have ended before it had told everything."""
        for plural, store in self.world.jobs.items():
            for job in store:
                kind = self.world.kinds[plural].following(job)
                found = Doubt(kind, job, tuple(implied(kind, job, self.world.observe(job), now - event_backfill.RECENT)))
                for resource in event_backfill.announced(kind):
                    for entry in self.world.owned(resource, job.metadata.uid):
                        if event_backfill.recent(entry, now):
                            found.add(resource, entry)
                if found.events or found.made:
                    self._recall.doubt(found)

    def on_job(self, key: JobKey) -> None:
        if self._acting:
            self._queue.add(key)

    def on_object(self, key: JobKey, resource: Resource, entry: Named) -> None:
        job = self.world.job(key) if self._acting else None
        owner = entry.metadata.controller
        if job is not None and owner is not None and owner.uid == job.metadata.uid:
            self._recall.came_up(self.world.kinds[key.plural].following(job), job, resource, entry)


async def _first(*work: Coroutine[Any, Any, Any]) -> None:
    """Waits for the first of them to end, ends the others, and raises what it raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await _cancelled(*tasks)


async def _one_ends(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _all_end(tasks: list[asyncio.Task[None]], seconds: float) -> None:
    done, left = await asyncio.wait(tasks, timeout=seconds)
    if left:
        logger.warning("work cut short", extra={"tasks": len(left)})
    for task in done:
        task.result()


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _rest_memory() -> None:
    """What the first lists brought stays for long: the garbage collector need not walk through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 20)
