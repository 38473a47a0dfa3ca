"""One WebSocket: its subscriptions, the state of the cluster, heartbeats."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from traincrew import errors
from traincrew.client import clock
from traincrew.console import capabilities, job_metrics, log_requests, recorded_jobs
from traincrew.console.contract import stream
from traincrew.console.contract.problems import ApiError
from traincrew.console.stream import jobs_topic, recorded_topics, topics
from traincrew.console.stream.job_topic import JobTopic
from traincrew.console.stream.logs_topic import LogsTopic
from traincrew.console.stream.metrics_topic import MetricsTopic
from traincrew.console.view import job_filters, problems

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
SEND_SECONDS = 60.0
"""A page that does not read for this time is disconnected."""
MAX_SUBSCRIPTIONS = 32
MAX_MESSAGE = 1 << 20
PROTOCOL = "traincrew.v1"

_decoder: msgspec.json.Decoder[stream.PageMessage] = msgspec.json.Decoder(stream.PageMessage)


class StreamConnection:
    def __init__(self, services: topics.Services, socket: web.WebSocketResponse) -> None:
        self._services, self._socket = services, socket
        self._subscriptions: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Until the page disconnects."""
        background = [asyncio.create_task(self._heartbeats()), asyncio.create_task(self._cluster_states())]
        try:
            async for message in self._socket:
                if message.type == WSMsgType.TEXT:
                    await self._receive(message.data)
        finally:
            tasks = [*background, *self._subscriptions.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _receive(self, text: str) -> None:
        try:
            message = _decoder.decode(text)
        except msgspec.DecodeError as error:
            await self._refuse("", f"the message is not valid: {error}")
            return
        await self._stop(message.topic)
        if isinstance(message, stream.Unsubscribe):
            await self._send(stream.End(topic=message.topic, reason="Unsubscribed", message=""))
        elif len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            await self._refuse(message.topic, f"a connection may have {MAX_SUBSCRIPTIONS} subscriptions")
        else:
            await self._subscribe(message)

    async def _stop(self, topic: str) -> None:
        if (task := self._subscriptions.pop(topic, None)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _subscribe(self, message: stream.Subscribe) -> None:
        try:
            running = self._topic(message)
        except errors.UserError as error:
            await self._refuse(message.topic, str(error))
            return
        task = asyncio.create_task(self._guarded(message.topic, running))
        self._subscriptions[message.topic] = task
        task.add_done_callback(lambda done: self._forget(message.topic, done))

    def _forget(self, topic: str, done: asyncio.Task[None]) -> None:
        if self._subscriptions.get(topic) is done:
            del self._subscriptions[topic]

    def _topic(self, message: stream.Subscribe) -> Coroutine[Any, Any, None]:
        topic = topics.parse(message.topic)
        if not self._services.has_cluster and (topic.job is None or not recorded_jobs.is_recorded(topic.job)):
            raise errors.NoCluster(capabilities.NO_CLUSTER)
        if topic.job is None:
            return jobs_topic.run(self._services.cache, message, job_filters.parse(topic.parameters), self._send)
        if recorded_jobs.is_recorded(topic.job):
            return recorded_topics.run(self._services, message, topic, topic.job, self._send)
        if topic.name == "job":
            return JobTopic(self._services, message, topic.job, self._send).run()
        if topic.name == "metrics":
            reader = job_metrics.JobMetricsReader(self._services.client, self._services.usage, topic.job, topic.parameters)
            return MetricsTopic(reader, message, self._send).run()
        request = log_requests.parse(topic.parameters)
        return LogsTopic(self._services, message, topic.job, request, self._send).run()

    async def _guarded(self, topic: str, running: Coroutine[Any, Any, None]) -> None:
        try:
            await running
        except (ConnectionError, TimeoutError):
            await self._socket.close()
        except Exception as error:
            log.exception("topic failed", extra={"topic": topic[:200]})
            found = problems.of(error, f"follow {topic[:200]}")
            await self._send(stream.StreamError(topic=topic, error=found, retrying=False))

    async def _refuse(self, topic: str, message: str) -> None:
        error = ApiError(tried=f"subscribe to {topic[:200]!r}", message=message, reason="Invalid", code=422)
        await self._send(stream.StreamError(topic=topic, error=error, retrying=False))

    async def _send(self, message: stream.ConsoleMessage) -> None:
        async with asyncio.timeout(SEND_SECONDS):
            await self._socket.send_str(msgspec.json.encode(message).decode())

    async def _heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await self._send(stream.Heartbeat(time=clock.now()))

    async def _cluster_states(self) -> None:
        cache, before = self._services.cache, "?"
        with cache.listening() as changed:
            while True:
                failure = cache.failure()
                found = problems.of(failure, "watch jobs") if failure is not None else None
                state = found.reason if found is not None else ""
                if state != before:
                    await self._send(_cluster_state(found))
                before = state
                await changed.wait()
                changed.clear()


def _cluster_state(error: ApiError | None) -> stream.ClusterState:
    if error is None:
        return stream.ClusterState(state="connected", since=clock.now())
    return stream.ClusterState(
        state="away", reason=error.reason, message=error.message, next_step=error.next_step, since=clock.now()
    )
