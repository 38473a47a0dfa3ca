"""The event recorder: writes events in the background, best effort.

A recorder is given what its component promises:

- a naming strategy. `UniqueNames` names every event anew. A name derived from the event makes repetition harmless: a
  component that restarts and records the event again gets AlreadyExists.
- a correlator, if occurrences of the same event are to be counted on one object.
- a `Delivery`: how many events wait, how many are written at once, how long one is retried.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable

import msgspec

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.client import events, port, retries
from traincrew.client.event_correlation import Correlator
from traincrew.client.events import Event
from traincrew.model.resources import EVENTS

logger = logging.getLogger(__name__)

NamingStrategy = Callable[[Event], str]


class UniqueNames:
    """Names of the involved object and the current time, as client-go's recorder names events."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self, event: Event) -> str:
        self._last = max(self._last + 1, time.time_ns())
        return f"{event.involved.name}.{self._last:x}"


@dataclasses.dataclass(frozen=True)
class Delivery:
    backlog: int = 5000
    """Events that wait; more are dropped."""
    workers: int = 1
    """Events written at the same time. One, where events are correlated: an update must follow the create."""
    retry_seconds: float = 0.0
    """How long an event is retried while the API server has trouble, beyond the client's own retries."""
    defer_seconds: float = 0.0
    """How long an event lets other requests go first."""


BEST_EFFORT = Delivery()


class EventRecorder:
    def __init__(
        self,
        writer: port.Writer,
        naming: NamingStrategy,
        correlator: Correlator | None = None,
        delivery: Delivery = BEST_EFFORT,
        defer_while: Callable[[], bool] = lambda: False,
    ) -> None:
        """defer_while: whether the component has more urgent requests."""
        self._writer = writer
        self._naming = naming
        self._correlator = correlator
        self._delivery = delivery
        self._defer_while = defer_while
        self._queue: asyncio.Queue[tuple[float, Event]] = asyncio.Queue(delivery.backlog)

    def record(self, event: Event) -> None:
        """Never waits. If the backlog is full the event is dropped."""
        try:
            self._queue.put_nowait((asyncio.get_running_loop().time(), event))
        except asyncio.QueueFull:
            logger.warning("event dropped", extra=_fields(event))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._delivery.workers):
                group.create_task(self._work())

    async def drain(self, seconds: float) -> None:
        """Waits until all events are written, for at most that long."""
        try:
            async with asyncio.timeout(seconds):
                await self._queue.join()
        except TimeoutError:
            logger.warning("events not written", extra={"count": self._queue.qsize()})

    async def _work(self) -> None:
        while True:
            recorded, event = await self._queue.get()
            try:
                await self._defer(recorded + self._delivery.defer_seconds)
                await self._write(event)
            except errors.AlreadyExists:
                pass  # recorded before, under the same name
            except errors.ApiError as error:
                expected = isinstance(error, errors.NotFound | errors.Forbidden)  # the namespace is terminating or gone
                level = logging.DEBUG if expected else logging.WARNING
                logger.log(level, "event not written", extra={**_fields(event), "error": error.message})
            finally:
                self._queue.task_done()

    async def _defer(self, until: float) -> None:
        clock = asyncio.get_running_loop().time
        while clock() < until and self._defer_while():  # noqa: ASYNC110 - there is no notification
            await asyncio.sleep(0.1)

    async def _write(self, event: Event) -> None:
        if self._correlator is None:
            await self._create(event, self._naming(event), events.Series(event.message, event.time))
            return
        observation = self._correlator.correlate(event)
        if observation is None:
            return
        if observation.name and await self._count(event, observation.name, observation.series):
            return
        observation.name = self._naming(event)
        await self._create(event, observation.name, observation.series)

    async def _count(self, event: Event, name: str, series: events.Series) -> bool:
        """Updates the object that counts the occurrences; False: it has expired."""
        message = series.message[: events.MESSAGE_LIMIT]
        changes = {"count": series.count, "lastTimestamp": times.rfc3339(event.time), "message": message}
        try:
            await self._writer.patch(EVENTS, event.namespace, name, msgspec.json.encode(changes))
        except errors.NotFound:
            return False
        return True

    async def _create(self, event: Event, name: str, series: events.Series) -> None:
        clock = asyncio.get_running_loop().time
        deadline, backoff = clock() + self._delivery.retry_seconds, retries.Backoff(0.5, 10.0)
        body = msgspec.json.encode(events.build(event, name, series))
        while True:
            try:
                await self._writer.create(EVENTS, event.namespace, body)
                return
            except errors.TemporaryError as error:
                delay = backoff.next(error)
                if clock() + delay > deadline:
                    raise
            await asyncio.sleep(delay)


def _fields(event: Event) -> dict[str, str]:
    return {"object": f"{event.involved.namespace}/{event.involved.name}", "reason": event.reason}
