"""The topic of the logs of a job: the last lines of all replicas, then each new line."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib
from typing import NamedTuple

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.console import job_reader
from traincrew.console.contract.logs import LogBatch, LogSource
from traincrew.console.contract.stream import End, LogsPatch, LogsSnapshot, StreamError, Subscribe
from traincrew.console.job_reader import JobAddress
from traincrew.console.log_requests import DEFAULT_TAIL, LogRequest
from traincrew.console.stream.topics import Send, Services
from traincrew.console.view import line_buffer, log_lines, log_sources, problems
from traincrew.inspection import job_informer, log_follower

FLUSH_SECONDS = 0.1
"""Lines of this time are merged. A line is on the screen 0.3 s after it is written."""
RETRY_SECONDS = 1.0


class _Followed(NamedTuple):
    follower: log_follower.LogFollower
    task: asyncio.Task[None]
    source: log_lines.Source
    uid: str


class LogsTopic:
    def __init__(self, services: Services, subscribe: Subscribe, job: JobAddress, request: LogRequest, send: Send) -> None:
        self._client, self._stored = services.client, services.stored
        self._subscribe, self._job, self._request, self._send = subscribe, job, request, send
        self._log_root: pathlib.Path | None = None
        self._informer = job_informer.JobInformer(services.client, job_informer.JobKey(job.kind, job.namespace, job.name))
        self._followed: dict[tuple[str, str], _Followed] = {}
        self._followed_changes = -1
        """The number of changes for which the logs of all started containers are followed."""
        self._numbers: dict[str, log_lines.Numbering] = {}
        self._buffer = line_buffer.LineBuffer()
        self._sources: dict[str, LogSource] = {}
        self._sent_sources: dict[str, LogSource] = {}
        self._deleted: list[LogSource] = []
        """Logs of deleted pods that were read and not reported yet."""
        self._wake = asyncio.Event()
        self._is_first = not subscribe.positions

    async def run(self) -> None:
        if not await self._exists():
            return
        async with self._informer.started():
            self._log_root = await self._stored.root(self._job.namespace)
            await self._read_deleted()
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

    async def _read_deleted(self) -> None:
        """The logs of pods that were deleted before: they come before those of the pods that replace them."""
        observed = self._informer.observe()
        if observed is None:
            return
        for log in await self._stored.of_job(self._job.kind, observed, self._informer.pods):
            source = log_lines.Source(observed.replica(log.pod), log.container)
            if self._request.selects(source.replica) and self._request.container in ("", source.container):
                on_lines, resumed = (
                    self._receiver(source),
                    pod_logs.Resumed(self._read_position(source) or pod_logs.LogPosition()),
                )
                async for batch in self._stored.lines(log, self._first_options()):
                    on_lines([line for line in batch if resumed.is_new(line)])
                self._deleted.append(log_sources.message(log.pod, source, ended=True))

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
                    if (uid, container) not in self._followed:
                        self._follow(uid, log_lines.Source(replica, container), pod.name)

    def _follow(self, uid: str, source: log_lines.Source, pod: str) -> None:
        read = self._read_position(source)
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
        first = dataclasses.replace(self._request.options(), previous=False)
        is_limited = first.tail is not None or first.since or first.since_seconds is not None
        return first if is_limited else dataclasses.replace(first, tail=DEFAULT_TAIL)

    def _receiver(self, source: log_lines.Source) -> log_follower.OnLines:
        start = log_lines.parse_sequence(self._subscribe.positions.get(source.name, ""))
        numbers = self._numbers.setdefault(source.name, log_lines.Numbering(*start) if start else log_lines.Numbering())

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
        changed, self._deleted = self._deleted, []
        for each in self._followed.values():
            pod = self._informer.pods[each.uid]
            found = log_sources.message(pod, each.source, each.follower.error, ended=each.task.done())
            key = f"{each.source.name} {each.uid}"
            if self._sent_sources.get(key) != found:
                self._sent_sources[key] = found
                changed.append(found)
        return changed
