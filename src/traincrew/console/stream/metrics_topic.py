"""The topic of the metrics of a job: all points, then the new ones."""

from __future__ import annotations

import asyncio

import msgspec

from traincrew import errors
from traincrew.console.contract.stream import End, MetricsPatch, MetricsSnapshot, StreamError, Subscribe
from traincrew.console.job_metrics import JobMetricsReader, MetricsState
from traincrew.console.stream.topics import Send
from traincrew.console.usage_sampler import INTERVAL
from traincrew.console.view import metric_patches, problems


class MetricsTopic:
    def __init__(self, reader: JobMetricsReader, subscribe: Subscribe, send: Send) -> None:
        self._reader, self._subscribe, self._send = reader, subscribe, send
        self._seen: metric_patches.Seen | None = None
        self._shown: tuple[str, list[str]] = ("", [])
        self._is_away = False

    async def run(self) -> None:
        async with self._reader.usage.watching(self._reader.job):
            while await self._read_and_wait():
                pass

    async def _read_and_wait(self) -> bool:
        """Whether the topic goes on."""
        try:
            state = await self._reader.read()
        except errors.ApiError as error:
            return await self._failed(error)
        self._is_away = False
        await self._show(state)
        if state.is_finished:
            message = f"{self._reader.job.reference} has finished; its metrics have ended"
            await self._send(End(topic=self._subscribe.topic, reason="Finished", message=message))
            return False
        await asyncio.sleep(INTERVAL)
        return True

    async def _failed(self, error: errors.ApiError) -> bool:
        job, topic = self._reader.job, self._subscribe.topic
        if isinstance(error, errors.NotFound) and self._seen is not None:
            await self._send(End(topic=topic, reason="Deleted", message=f"{job.reference} was deleted"))
            return False
        retrying = isinstance(error, errors.TemporaryError | errors.Unauthorized)
        if not self._is_away:
            found = problems.of(error, f"read the metrics of {job.reference} in namespace {job.namespace}")
            await self._send(StreamError(topic=topic, error=found, retrying=retrying))
        self._is_away = True
        await asyncio.sleep(INTERVAL if retrying else 0)
        return retrying

    async def _show(self, state: MetricsState) -> None:
        counted: list[metric_patches.AnySeries] = [*state.usage, *state.output]
        shown = (state.unavailable, state.errors)
        if self._seen is None or not metric_patches.is_continued(self._seen, counted):
            await self._send(MetricsSnapshot(topic=self._subscribe.topic, data=state.message()))
        else:
            usage = metric_patches.new_points(self._seen, state.usage)
            output = metric_patches.new_points(self._seen, state.output)
            if usage or output or shown != self._shown:
                data = msgspec.structs.replace(state.message(), usage=usage, output=output)
                await self._send(MetricsPatch(topic=self._subscribe.topic, data=data))
        self._seen, self._shown = metric_patches.seen(counted), shown
