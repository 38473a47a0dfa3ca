"""The operator: informers, leader election, the reconcile workers and the event recorder, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gc
import logging
import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from traincrew import errors, settings
from traincrew.client import clock, interfaces
from traincrew.client.event_recorder import EventRecorder
from traincrew.client.leader_election import LeaderElector
from traincrew.client.workqueue import WorkQueue
from traincrew.kinds.kind import JobKind
from traincrew.model.meta import Named
from traincrew.model.resources import Resource
from traincrew.operator import event_backfill, http_endpoints, job_events, outdated_crds
from traincrew.operator.controller import TrainingJobController
from traincrew.operator.event_backfill import EventBackfill, ExpectedEvents
from traincrew.operator.execution_context import ExecutionContext
from traincrew.operator.job_events import JobEventRecorder
from traincrew.operator.job_key import JobQueueKey
from traincrew.operator.metrics import Metrics
from traincrew.operator.metrics_authentication import MetricsAuthentication
from traincrew.operator.missing_crds import MissingCRDs
from traincrew.operator.observer import Observer
from traincrew.operator.other_operators import OtherOperators
from traincrew.operator.outdated_crds import OutdatedCRDs
from traincrew.operator.sharing_controller import SharingController
from traincrew.operator.worker_seconds_metrics import WorkerSecondsMetrics
from traincrew.planner.events import implied
from traincrew.serving import background_tasks
from traincrew.serving.serving_certificate import ServingCertificate

log = logging.getLogger(__name__)

WORKER_SHUTDOWN_SECONDS = 10.0
"""How long workers may finish their current job when the operator is stopped."""
EVENT_DRAIN_SECONDS = 5.0
"""How long recorded events are written after that."""
GC_THRESHOLD = 10_000
"""Allocations between two runs of Python's cycle collector; cycles are few, and each run blocks the event loop."""


class LeadershipLost(errors.TraincrewError):
    """Another operator may be acting: this process must end at once."""


class Clients:
    """Renewing the lease must never wait behind other requests, so it may have another client."""

    def __init__(
        self, work: interfaces.Client, lease: interfaces.Client | None = None, fetch: outdated_crds.Fetch | None = None
    ) -> None:
        """fetch: reads a path of the API server; see `OutdatedCRDs`."""
        self.work = work
        self.lease = lease or work
        self.fetch = fetch


class Operator:
    """One operator process."""

    def __init__(
        self,
        clients: Clients,
        kinds: tuple[JobKind, ...],
        options: settings.Operator,
        metrics: Metrics,
        now: Callable[[], dt.datetime] = clock.now,
    ) -> None:
        self._options, self._metrics, self._now = options, metrics, now
        self._queue: WorkQueue[JobQueueKey] = WorkQueue()
        self._active = False
        """Whether this process leads and its workers run."""
        self._others = OtherOperators(clients.work, kinds, options, metrics, now)
        self._others.on_change = self._reconcile_all
        self.observer = Observer(clients.work, kinds, options, self, self._others.status_writers)
        self._missing_crds = MissingCRDs(self.observer.informers)
        self._outdated_crds = OutdatedCRDs(clients.fetch, lambda: self._missing_crds.served_of(kinds))
        self._authentication = MetricsAuthentication(clients.work) if options.metrics_authentication else None
        self._event_recorder = EventRecorder(
            clients.work,
            job_events.name,
            delivery=job_events.DELIVERY,
            defer_while=lambda: self._active and len(self._queue) > 0,
        )
        recorder = JobEventRecorder(self._event_recorder, now)
        self._backfill = EventBackfill(clients.work, recorder, options.namespaces, now)
        context = ExecutionContext(clients.work, self.observer, recorder, metrics, self._backfill)
        self._sharing = SharingController(clients.work, self.observer, options, self._queue.add, metrics, now)
        metrics.before_scrape.append(WorkerSecondsMetrics(self.observer, metrics, lambda: self._active, now).refresh)
        self._controller = TrainingJobController(context, self._queue, self._others, now)
        self._leading = metrics.leading.labels(options.election.namespace, options.election.name)
        self._elector = LeaderElector(clients.lease, options.election, f"{socket.gethostname()}_{uuid.uuid4()}", now)

    def unready_reason(self) -> str:
        """Why the operator is not ready; empty if it is."""
        unsynced = [each.scope.resource.plural for each in self.observer.informers if not each.synced.is_set()]
        if unsynced:
            return f"waiting for the first list of {', '.join(dict.fromkeys(unsynced))}"
        return self._missing_crds.unready_reason() or self._outdated_crds.unready_reason or self._others.unready_reason()

    def notices(self) -> list[str]:
        """What the operator does not do although it is ready."""
        return list(filter(None, (self._missing_crds.notice(), self._others.notice())))

    async def run(self, stop: asyncio.Event) -> None:
        """Runs until `stop` is set; then finishes the current work and releases the lease."""
        directory = self._options.metrics_certificate
        health = http_endpoints.serve(self._options.health_address, http_endpoints.health_app(self.unready_reason, self.notices))
        metrics = http_endpoints.serve(
            self._options.metrics_address,
            http_endpoints.metrics_app(self._metrics, self._authentication),
            ServingCertificate.in_directory(directory) if directory else None,
        )
        async with health, metrics:
            # Only the first task is expected to end. If another ends, the operator can no longer observe or record and must stop.
            informers = (each.run() for each in self.observer.informers)
            later = self._outdated_crds.check_later_crds()
            recorders = (self._event_recorder.run(), self._backfill.run())
            await _first(self._lead(stop), *recorders, self._others.run(), later, *informers)
        log.info("stopped")

    async def _lead(self, stop: asyncio.Event) -> None:
        # Before the election: an operator that must wait for newer CRDs would hold the Lease and act on nothing.
        await _first(stop.wait(), self._ready_to_lead())
        if stop.is_set():
            return
        async with self._leader_election(stop) as leadership_lost:
            await _first(stop.wait(), self._others.synced(), leadership_lost())
            if stop.is_set():
                return
            async with self._workers() as workers:
                await _first(stop.wait(), leadership_lost(), _any_ends(workers), self._sharing.run())
                self._active = False
                self._queue.shut_down()
                await _first(_all_end(workers, WORKER_SHUTDOWN_SECONDS), leadership_lost())
            await self._event_recorder.drain(EVENT_DRAIN_SECONDS)

    async def _ready_to_lead(self) -> None:
        await self.observer.synced()
        await self._outdated_crds.updated()

    @contextlib.asynccontextmanager
    async def _leader_election(self, stop: asyncio.Event) -> AsyncIterator[Callable[[], Coroutine[Any, Any, object]]]:
        """Yields, while this process leads or is to stop, a function that waits for the loss of leadership and raises."""
        if not self._options.election.enabled:
            yield asyncio.Event().wait
            return
        renewal: asyncio.Task[None] | None = None

        async def leadership_lost() -> None:
            if renewal is None:
                await asyncio.Event().wait()
            else:
                await asyncio.shield(renewal)
                raise LeadershipLost("the lease could not be renewed in time; another operator may be acting now")

        try:
            await _first(stop.wait(), self._elector.acquire())
            if not stop.is_set():
                renewal = asyncio.create_task(self._elector.renew())
            yield leadership_lost
        finally:
            if renewal is not None:
                await background_tasks.cancel(renewal)
            await self._elector.release()

    @contextlib.asynccontextmanager
    async def _workers(self) -> AsyncIterator[list[asyncio.Task[None]]]:
        _tune_garbage_collection()
        log.info("starting workers", extra={"jobs": len(self.observer.keys()), "pid": os.getpid()})
        self._backfill_recent_events()
        self._active = True
        self._reconcile_all()
        workers = [asyncio.create_task(self._controller.run_worker()) for _ in range(self._options.workers)]
        self._leading.set(1)
        try:
            yield workers
        finally:
            self._leading.set(0)
            self._active = False
            await background_tasks.cancel(*workers)

    def _backfill_recent_events(self) -> None:
        """The previous leader may have ended before it recorded all events."""
        now = self._now()
        for plural, store in self.observer.jobs.items():
            for job in store:
                kind = self.observer.kinds[plural].following(job)
                events = tuple(implied(kind, job, self.observer.observe(job), now - event_backfill.RECENT))
                expected = ExpectedEvents(kind, job, events)
                for resource in event_backfill.announced(kind):
                    for obj in self.observer.owned(resource, job.metadata.uid):
                        if event_backfill.is_recent(obj, now):
                            expected.add_created(resource, obj)
                if expected.events or expected.created:
                    self._backfill.expect(expected)

    def _reconcile_all(self) -> None:
        for key in self.observer.keys() if self._active else ():
            self._queue.add(key)

    def job_changed(self, key: JobQueueKey) -> None:
        if self._active:
            self._queue.add(key)
            self._sharing.job_changed(key)

    def object_added(self, key: JobQueueKey, resource: Resource, obj: Named) -> None:
        job = self.observer.job(key) if self._active else None
        owner = obj.metadata.controller
        if job is not None and owner is not None and owner.uid == job.metadata.uid:
            self._backfill.object_added(self.observer.kinds[key.plural].following(job), job, resource, obj)


async def _first(*work: Coroutine[Any, Any, Any]) -> None:
    """Waits for the first to end, cancels the others, and raises its exception."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await background_tasks.cancel(*tasks)


async def _any_ends(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _all_end(tasks: list[asyncio.Task[None]], seconds: float) -> None:
    done, left = await asyncio.wait(tasks, timeout=seconds)
    if left:
        log.warning("workers cancelled", extra={"workers": len(left)})
    for task in done:
        task.result()


def _tune_garbage_collection() -> None:
    """The objects of the first lists live long: the cycle collector need not traverse them repeatedly."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 20)
