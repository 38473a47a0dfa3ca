"""The event recorder: writes events in the background, best effort.

A recorder has

- a naming strategy. `UniqueNames` gives every event a new name. A name derived from the event prevents duplicates: a
  component that restarts and records the event again gets AlreadyExists.
- a correlator, if occurrences of the same event are counted on one object;
- a `Delivery`: the limits on waiting events, concurrent writes and retries.
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
from traincrew.client import events, interfaces, retries
from traincrew.client.event_correlation import Correlator
from traincrew.client.events import RecordedEvent
from traincrew.model.resources import EVENTS

log = logging.getLogger(__name__)

NamingStrategy = Callable[[RecordedEvent], str]


class UniqueNames:
    """Names of the involved object and the current time, as client-go's recorder names events."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self, event: RecordedEvent) -> str:
        self._last = max(self._last + 1, time.time_ns())
        return f"{event.involved.name}.{self._last:x}"


@dataclasses.dataclass(frozen=True)
class Delivery:
    backlog: int = 5000
    """Largest number of waiting events. Further events are dropped."""
    workers: int = 1
    """Largest number of concurrent writes. 1 if events are correlated: an update must follow the create."""
    retry_seconds: float = 0.0
    """How long an event is retried while the API server fails, in addition to the retries of the client."""
    defer_seconds: float = 0.0
    """How long an event is delayed in favour of other requests."""


BEST_EFFORT = Delivery()


class EventRecorder:
    def __init__(
        self,
        writer: interfaces.Writer,
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
        self._queue: asyncio.Queue[tuple[float, RecordedEvent]] = asyncio.Queue(delivery.backlog)

    def record(self, event: RecordedEvent) -> None:
        """Does not block. If the backlog is full, the event is dropped."""
        try:
            self._queue.put_nowait((asyncio.get_running_loop().time(), event))
        except asyncio.QueueFull:
            log.warning("event dropped", extra=_fields(event))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._delivery.workers):
                group.create_task(self._work())

    async def drain(self, seconds: float) -> None:
        """Waits until all events are written, at most for that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._queue.join()
        except TimeoutError:
            log.warning("events not written", extra={"count": self._queue.qsize()})

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
                log.log(level, "event not written", extra={**_fields(event), "error": error.message})
            except Exception:
                log.exception("event not written", extra=_fields(event))
            finally:
                self._queue.task_done()

    async def _defer(self, until: float) -> None:
        clock = asyncio.get_running_loop().time
        while clock() < until and self._defer_while():  # noqa: ASYNC110 - there is no notification
            await asyncio.sleep(0.1)

    async def _write(self, event: RecordedEvent) -> None:
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

    async def _count(self, event: RecordedEvent, name: str, series: events.Series) -> bool:
        """Updates the object that counts the occurrences; False: it has expired."""
        message = events.truncated(series.message)
        changes = {"count": series.count, "lastTimestamp": times.rfc3339(event.time), "message": message}
        try:
            await self._writer.patch(EVENTS, event.namespace, name, msgspec.json.encode(changes))
        except errors.NotFound:
            return False
        return True

    async def _create(self, event: RecordedEvent, name: str, series: events.Series) -> None:
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


def _fields(event: RecordedEvent) -> dict[str, str]:
    return {"object": f"{event.involved.namespace}/{event.involved.name}", "reason": event.reason}
