"""The topic of the logs of a job: the selected lines of all replicas, then each new line."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import pathlib
from typing import NamedTuple

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.client import pod_logs
from traincrew.console import job_reader, log_reader, log_requests, log_selection
from traincrew.console.contract.logs import LogBatch, LogSource
from traincrew.console.contract.stream import End, LogsPatch, LogsSnapshot, StreamError, Subscribe
from traincrew.console.job_reader import JobAddress
from traincrew.console.log_requests import LogRequest
from traincrew.console.log_selection import Log, LogAccess
from traincrew.console.stream.topics import Send, Services
from traincrew.console.view import line_buffer, log_lines, log_sources, problems
from traincrew.inspection import job_informer, log_follower

FLUSH_SECONDS = 0.1
"""Lines of this time are merged. A line is on the screen 0.3 s after it is written."""
RETRY_SECONDS = 1.0
CAUGHT_UP = 10_000
"""If fewer lines were written while the others were sent, the rest is followed."""


class _Followed(NamedTuple):
    follower: log_follower.LogFollower
    task: asyncio.Task[None]
    source: log_lines.Source
    uid: str


class LogsTopic:
    def __init__(self, services: Services, subscribe: Subscribe, job: JobAddress, request: LogRequest, send: Send) -> None:
        self._client, self._stored = services.client, services.stored
        self._subscribe, self._job, self._send = subscribe, job, send
        self._request = request.with_default_tail()
        self._access = LogAccess(services.client, services.stored)
        self._log_root: pathlib.Path | None = None
        self._informer = job_informer.JobInformer(services.client, job_informer.JobKey(job.kind, job.namespace, job.name))
        self._followed: dict[tuple[str, str], _Followed] = {}
        self._followed_changes = -1
        """The number of changes for which the logs of all started containers are followed."""
        self._numbers = log_lines.continued(subscribe.positions)
        self._buffer = line_buffer.LineBuffer()
        self._sources: dict[str, LogSource] = {}
        self._sent_sources: dict[str, LogSource] = {}
        self._positions: dict[tuple[str, str], pod_logs.LogPosition] = {}
        """How far the logs were read before they are followed, by UID of the pod and container."""
        self._read_to_the_end: set[tuple[str, str]] = set()
        self._ended: list[LogSource] = []
        """Logs that were read to their ends, which are not reported yet."""
        self._wake = asyncio.Event()
        self._is_first = not subscribe.positions

    async def run(self) -> None:
        if not await self._exists():
            return
        async with self._informer.started():
            self._log_root = await self._stored.root(self._job.namespace)
            if await self._send_present():
                await self._send(End(topic=self._subscribe.topic, reason="Limited", message="there are later lines"))
                return
            await self._follow_all()

    async def _follow_all(self) -> None:
        watching = asyncio.create_task(self._watch_pods())
        try:
            await self._deliver()
        finally:
            tasks = [watching, *(each.task for each in self._followed.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _exists(self) -> bool:
        """Whether the job can be read. A cluster that is away is waited for."""
        reported = False
        while True:
            try:
                await job_reader.read(self._client, self._job)
            except errors.ApiError as error:
                is_temporary = isinstance(error, errors.TemporaryError | errors.Unauthorized)
                if not reported:
                    found = problems.of(error, f"read the logs of {self._job.reference} in namespace {self._job.namespace}")
                    await self._send(StreamError(topic=self._subscribe.topic, error=found, retrying=is_temporary))
                if not is_temporary:
                    return False
                reported = True
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return True

    async def _send_present(self) -> bool:
        """Send what the logs have now, as fast as the page reads. Whether that is all that is asked for."""
        logs = await self._present_logs()
        while logs:
            reader = log_reader.PresentLines(self._access, self._request, self._numbers)
            count = 0
            async with contextlib.aclosing(reader.read(logs)) as batches:
                async for batch in batches:
                    count += len(batch)
                    for line in batch:
                        self._buffer.add(line.message)
                    if self._buffer.fills_a_message:
                        await self._flush()
            self._buffer.skip(reader.dropped)
            logs = self._continued(logs)
            await self._flush()
            if reader.later:
                return True
            if count < CAUGHT_UP:
                break
        return False

    async def _present_logs(self) -> list[Log]:
        observed = self._informer.observe()
        if observed is None:
            return []
        logs = await log_selection.of_deleted(self._access, observed, self._informer.pods, self._request)
        if not self._request.previous:  # the earlier runs come first, and are read where the log is followed
            logs += log_selection.of_pods(observed, self._request)
        for log in logs:
            log.position = self._read_position(log.source) or log.position
        return logs

    def _continued(self, logs: list[Log]) -> list[Log]:
        """Those that may have more lines. The ends of the others are reported with the next message."""
        for log in logs:
            key = (log.pod.metadata.uid, log.source.container)
            if log.stored is not None or (log.complete and log.over):
                self._ended.append(log.message())
                self._read_to_the_end.add(key)
            else:
                self._positions[key] = log.position
        return [log for log in logs if log.complete and not log.over]

    async def _watch_pods(self) -> None:
        """Follow the logs of containers that have started."""
        while True:
            self._follow_started()
            self._followed_changes = self._informer.changes
            self._wake.set()
            await self._informer.changed(self._followed_changes)

    def _follow_started(self) -> None:
        for uid in sorted(self._informer.existing):
            pod = self._informer.pods[uid]
            replica = pod.name.removeprefix(f"{self._job.name}-")
            if self._request.selects(replica):
                for container in log_sources.containers(self._job.kind, pod, self._request.container):
                    if (uid, container) not in self._followed and (uid, container) not in self._read_to_the_end:
                        self._follow(uid, log_lines.Source(replica, container), pod.name)

    def _follow(self, uid: str, source: log_lines.Source, pod: str) -> None:
        read = self._positions.get((uid, source.container), self._read_position(source))
        read = read if read is not None and read.last else None
        position = pod_logs.ContainerReference(self._job.namespace, pod, source.container)
        log = log_follower.ContainerLog(position, uid, read)
        follower = log_follower.LogFollower(self._client, self._informer, log, self._receiver(source), self._log_root)
        earlier = read is not None or self._request.previous
        task = asyncio.create_task(follower.follow(self._first_options(), earlier=earlier))
        task.add_done_callback(lambda _: self._wake.set())
        self._followed[uid, source.container] = _Followed(follower, task, source, uid)

    def _read_position(self, source: log_lines.Source) -> pod_logs.LogPosition | None:
        """How far the page has read the log; None: it has not."""
        start = log_lines.parse_sequence(self._subscribe.positions.get(source.name, ""))
        return pod_logs.LogPosition(start[0], start[1] + 1) if start is not None else None

    def _first_options(self) -> pod_logs.PodLogOptions:
        """For logs that were not read yet."""
        if self._request.at:
            since = times.rfc3339(dt.datetime.fromtimestamp(self._request.at // pod_logs.NANO, dt.UTC))
            return pod_logs.PodLogOptions(since=since, max_line=log_requests.MAX_LINE)
        first = self._request.options(tail=None if self._request.lines else self._request.tail)
        return dataclasses.replace(first, previous=False)

    def _receiver(self, source: log_lines.Source) -> log_follower.OnLines:
        numbers = self._numbers.setdefault(source.name, log_lines.Numbering())

        def on_lines(lines: list[pod_logs.PodLogLine]) -> None:
            for line in lines:
                found = log_lines.message(source, numbers.next(line.nanoseconds), line.nanoseconds, line.text)
                if self._request.lines.matches(found):
                    self._buffer.add(found)
            self._wake.set()

        return on_lines

    async def _deliver(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(FLUSH_SECONDS)
            is_over = self._is_over()
            await self._flush()
            if is_over:
                reason, text = ("Deleted", "was deleted") if self._informer.deleted else ("Finished", "has finished")
                message = f"{self._job.reference} {text}; its logs have ended"
                await self._send(End(topic=self._subscribe.topic, reason=reason, message=message))  # type: ignore[arg-type]
                return

    def _is_over(self) -> bool:
        """Whether all logs have ended, and no replica will start again."""
        is_complete = self._informer.no_log_will_start(self._followed_changes)
        return is_complete and all(each.task.done() for each in self._followed.values())

    async def _flush(self) -> None:
        self._buffer.sort()
        sources = self._changed_sources()
        while self._buffer or sources or self._is_first:
            taken = self._buffer.take()
            batch = LogBatch(lines=taken.lines, sources=sources, skipped=taken.skipped)
            kind = LogsSnapshot if self._is_first else LogsPatch
            await self._send(kind(topic=self._subscribe.topic, data=batch))
            self._is_first, sources = False, []

    def _changed_sources(self) -> list[LogSource]:
        changed, self._ended = self._ended, []
        for each in self._followed.values():
            pod = self._informer.pods[each.uid]
            found = log_sources.message(pod, each.source, each.follower.error, ended=each.task.done())
            key = f"{each.source.name} {each.uid}"
            if self._sent_sources.get(key) != found:
                self._sent_sources[key] = found
                changed.append(found)
        return changed
