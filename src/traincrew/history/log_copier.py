"""Copies the logs of pods to the store while they are written: a cluster removes them with the pod, and rotates them before."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from traincrew import errors
from traincrew.apimachinery import backoff
from traincrew.client import pod_logs
from traincrew.client.interfaces import LogReader
from traincrew.history import container_runs
from traincrew.history.container_runs import LoggedPod
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.log_writer import LogWriter
from traincrew.history.records import MAX_LINE

log = logging.getLogger(__name__)

MAX_STREAMS = 2000
"""Logs that are followed at a time. Other containers wait until one of these ends."""
FLUSH_SECONDS = 3.0
STATUS_SECONDS = 10.0
"""From the end of a stream to the status of a container that has ended. Without one, the stream is opened again."""
LAST_SECONDS = 30.0
"""For the last lines of a deleted pod."""
RETRY_SECONDS = 30.0


@dataclasses.dataclass
class _CopiedPod:
    state: LoggedPod
    changed: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    is_deleted: bool = False
    tasks: dict[str, asyncio.Task[None]] = dataclasses.field(default_factory=dict)

    async def wait(self, seconds: float | None = None) -> None:
        """For a change of its state."""
        self.changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.changed.wait()

    async def has_ended(self, container: str, run: int) -> bool:
        """Whether a run is over, as far as its status says it soon."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STATUS_SECONDS):
                while not self.is_deleted:
                    latest = self.state.runs[container]
                    if latest.number > run or latest.over:
                        return True
                    await self.wait()
        return False


class LogCopier:
    def __init__(self, reader: LogReader, thread: DatabaseThread, max_bytes: int) -> None:
        """max_bytes: of the log of one container."""
        self._reader, self._thread, self._max_bytes = reader, thread, max_bytes
        self._pods: dict[str, _CopiedPod] = {}
        self._writers: set[LogWriter] = set()
        self._streams = asyncio.Semaphore(MAX_STREAMS)

    def pod_changed(self, text: bytes) -> None:
        state = container_runs.read(text)
        pod = self._pods.setdefault(state.uid, _CopiedPod(state))
        pod.state = state
        for container in state.runs.keys() - pod.tasks.keys():
            pod.tasks[container] = asyncio.create_task(self._copy(pod, container))
        pod.changed.set()

    def pod_deleted(self, uid: str) -> None:
        if (pod := self._pods.pop(uid, None)) is not None:
            pod.is_deleted = True
            pod.changed.set()
            for task in pod.tasks.values():
                asyncio.get_running_loop().call_later(LAST_SECONDS, task.cancel)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        flushing = asyncio.create_task(self._flush_always())
        try:
            yield
        finally:
            tasks = [flushing, *(task for pod in self._pods.values() for task in pod.tasks.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._pods.clear()
            await self.flush()

    async def flush(self) -> None:
        for each in list(self._writers):
            with contextlib.suppress(errors.StoreError):  # the recorder reports it; the lines are kept
                await each.flush()

    async def _flush_always(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def _copy(self, pod: _CopiedPod, container: str) -> None:
        writer = LogWriter(self._thread, pod.state.uid, container, self._max_bytes)
        self._writers.add(writer)
        try:
            await self._until_stored(writer.restore)
            await self._copy_runs(pod, container, writer)
            await self._until_stored(writer.flush)
        except errors.Forbidden as error:
            log.error("logs cannot be copied", extra={"pod": pod.state.name, "error": error.message})
        finally:
            self._writers.discard(writer)

    async def _until_stored(self, action: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await action()
                return
            except errors.StoreError:  # the recorder reports it
                await asyncio.sleep(RETRY_SECONDS)

    async def _copy_runs(self, pod: _CopiedPod, container: str, writer: LogWriter) -> None:
        done, failures = max(writer.run, 0) - 1, 0
        while not pod.is_deleted and not (pod.state.finished and pod.state.runs[container].number <= done):
            run = pod.state.runs[container].number
            if run <= done:
                await pod.wait()
                continue
            try:
                await self._read_run(pod, container, writer)
                failures = 0
            except errors.Forbidden:
                raise
            except (errors.ApiError, errors.StoreError):  # such as a node that does not respond
                failures += 1
                await pod.wait(backoff.exponential_delay(failures, 1.0, RETRY_SECONDS))
                continue
            if await pod.has_ended(container, run):
                done = run

    async def _read_run(self, pod: _CopiedPod, container: str, writer: LogWriter) -> None:
        """The present run to its end. Before a run begins, the one before is completed."""
        state, run = pod.state, pod.state.runs[container].number
        reference = pod_logs.ContainerReference(state.namespace, state.name, container)
        begins = writer.run < run
        previous = await self._previous(reference) if begins and run > 0 else []
        since = "" if begins else writer.position.since()
        wanted = pod_logs.PodLogOptions(follow=True, since=since, max_line=MAX_LINE)
        resumed = pod_logs.Resumed(writer.position)
        async with self._streams, contextlib.aclosing(pod_logs.lines(self._reader, reference, wanted)) as batches:
            async for batch in batches:
                if begins and batch:
                    # While a container waits for its restart, the node takes the last run for the previous one, too.
                    await writer.begin(run, previous if previous[:1] != batch[:1] else [], state.secrets)
                    begins, resumed = False, pod_logs.Resumed(writer.position)
                await writer.add([line for line in batch if resumed.is_new(line)], state.secrets)
        if begins:
            await writer.begin(run, previous, state.secrets)

    async def _previous(self, reference: pod_logs.ContainerReference) -> list[pod_logs.PodLogLine]:
        wanted = pod_logs.PodLogOptions(previous=True, max_line=MAX_LINE)
        try:
            async with self._streams, contextlib.aclosing(pod_logs.lines(self._reader, reference, wanted)) as batches:
                return [line async for batch in batches for line in batch]
        except (errors.Rejected, errors.NotFound):  # the node has removed it
            return []
