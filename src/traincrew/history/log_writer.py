"""Writes the log of one container to the store in chunks, from where an earlier recorder has stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from traincrew.apimachinery import redaction
from traincrew.client import pod_logs
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.records import CHUNK_BYTES, LogChunk


class LogWriter:
    """The last chunk grows until it is large enough: it is written again with each flush."""

    def __init__(self, thread: DatabaseThread, pod: str, container: str, max_bytes: int) -> None:
        """max_bytes: of the log in the store. The oldest chunks are removed first."""
        self._thread, self._pod, self._container, self._max_bytes = thread, pod, container, max_bytes
        self.position = pod_logs.LogPosition()
        self.run = -1
        """Of the lines that are written now."""
        self._number = 0
        self._lines = bytearray()
        self._time = 0
        self._is_dirty = False
        self._writing = asyncio.Lock()

    async def restore(self) -> None:
        """Continue behind the last line in the store. Raise StoreError."""
        last = await self._thread.call(lambda store: store.last_log(self._pod, self._container))
        if last is not None:
            self.run, self._number = last.run, last.number + 1
            for raw in last.lines.split(b"\n"):
                self.position.took(pod_logs.parse(raw))

    async def begin(self, run: int, previous: Sequence[pod_logs.PodLogLine] = (), secrets: tuple[bytes, ...] = ()) -> None:
        """Lines of this run follow. previous: those of the run before, as the node has them. Raise StoreError."""
        if previous:
            await self._end(run - 1, previous, secrets)
        await self._switch(run)

    async def _switch(self, run: int) -> None:
        if run != self.run:
            await self.flush()
            self.run, self._number, self._lines = run, 0, bytearray()

    async def _end(self, run: int, lines: Sequence[pod_logs.PodLogLine], secrets: tuple[bytes, ...]) -> None:
        """The API does not say of which run a log is: what was read as this run and is later than its end is of the next one."""
        await self._switch(run)
        if self.position.last <= lines[-1].nanoseconds:
            resumed = pod_logs.Resumed(self.position)
            await self.add([line for line in lines if resumed.is_new(line)], secrets)
            return
        await self.flush()
        stored = await self._stored(run)
        await self._thread.call(lambda store: store.remove_run(self._pod, self._container, run))
        self._number, self._lines, self.position = 0, bytearray(), pod_logs.LogPosition()
        await self.add([line for line in stored if line.nanoseconds < lines[0].nanoseconds], ())
        await self.add(lines, secrets)
        await self._switch(run + 1)
        await self.add([line for line in stored if line.nanoseconds > lines[-1].nanoseconds], ())

    async def _stored(self, run: int) -> list[pod_logs.PodLogLine]:
        found, number = list[pod_logs.PodLogLine](), -1
        while (chunk := await self._next(run, number)) is not None and chunk.run == run:
            found += [pod_logs.parse(raw) for raw in chunk.lines.removesuffix(b"\n").split(b"\n")]
            number = chunk.number
        return found

    async def _next(self, run: int, number: int) -> LogChunk | None:
        return await self._thread.call(lambda store: store.log(self._pod, self._container, (run, number)))

    async def add(self, lines: Iterable[pod_logs.PodLogLine], secrets: tuple[bytes, ...]) -> None:
        """Raise StoreError; the lines are kept for the next flush."""
        for line in lines:
            self.position.took(line)
            self._lines += redaction.without(pod_logs.encode(line), secrets) + b"\n"
            self._time, self._is_dirty = line.nanoseconds // 1_000_000, True
            if len(self._lines) >= CHUNK_BYTES:
                await self._next_chunk()

    async def _next_chunk(self) -> None:
        await self.flush()
        self._number, self._lines = self._number + 1, bytearray()
        await self._thread.call(lambda store: store.trim_log(self._pod, self._container, self._max_bytes))

    async def flush(self) -> None:
        """Raise StoreError."""
        async with self._writing:
            if not self._is_dirty:
                return
            chunk = LogChunk(self._pod, self._container, self.run, self._number, self._time, bytes(self._lines))
            self._is_dirty = False
            try:
                await self._thread.call(lambda store: store.write_log(chunk))
            except BaseException:
                self._is_dirty = True
                raise
