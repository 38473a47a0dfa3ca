"""Reads what logs have now, merged by time: the last lines, those that match, or those around a moment.

Lines are passed on while they are read, so that a reader that waits is waited for. Only last lines must be kept until the end is
known: as many as LastLines has space for.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from typing import NamedTuple

from traincrew import errors
from traincrew.client import pod_logs
from traincrew.console import job_reader, log_selection
from traincrew.console.contract.logs import LogLine, LogPage
from traincrew.console.log_requests import LogRequest
from traincrew.console.log_selection import Log, LogAccess
from traincrew.console.view import log_lines
from traincrew.history.last_lines import LastLines
from traincrew.inspection import log_merge

MAX_KEPT = 100_000
"""A larger tail is all lines: they are passed on as they are read."""
BEFORE = 1000
"""Lines of each log before a moment."""
FIRST_SECONDS = 5.0
"""Until the first lines of a log that is followed afterwards. The node of one pod may be lost: the other logs do not wait."""
PART = 1000
"""Kept lines that are passed on together."""


class ReadLine(NamedTuple):
    message: LogLine
    text: bytes
    """Complete, unless it is longer than what is kept of a line."""


class _KeptLine(NamedTuple):
    """Smaller than a message: most of these lines are dropped."""

    source: log_lines.Source
    sequence: str
    nanoseconds: int
    text: bytes
    length: int

    def read(self) -> ReadLine:
        return ReadLine(log_lines.message(self.source, self.sequence, self.nanoseconds, self.text, self.length), self.text)


class PresentLines:
    """Numbers lines, so that reading again continues."""

    def __init__(self, access: LogAccess, request: LogRequest, numbers: dict[str, log_lines.Numbering] | None = None) -> None:
        """numbers: by source, of a reader that continues: it is extended."""
        self._access, self._request = access, request
        self.is_followed = numbers is not None
        self.numbers = numbers if numbers is not None else {}
        self.later = False
        """There are lines after those around the moment."""
        self.dropped = 0
        """Last lines for which there was no space."""

    async def read(self, logs: Sequence[Log]) -> AsyncGenerator[list[ReadLine], None]:
        """From their positions on, which advance."""
        resumed = [log.position.last > 0 for log in logs]
        kept = self._last_lines([log for log, again in zip(logs, resumed, strict=True) if not again])
        left = self._request.tail if self._request.at else None
        sources = [self._batches(log) for log in logs]
        try:
            async for index, batch in log_merge.merge(sources):
                found = list(self._passed_on(logs[index], batch, None if resumed[index] else kept))
                if found and kept is not None and self._request.at:
                    for part in self._taken(kept):
                        yield part
                self.later = left is not None and len(found) > left
                if found:
                    yield found[:left]
                if self.later:
                    return
                left = left - len(found) if left is not None else None
            if kept is not None:
                for part in self._taken(kept):
                    yield part
        finally:
            for source in sources:
                await source.aclose()

    def _last_lines(self, logs: Sequence[Log]) -> LastLines[_KeptLine] | None:
        """For logs that are read from their beginning, though only their last lines are wanted."""
        request = self._request
        if request.at:
            return LastLines(min(BEFORE, request.tail or BEFORE))
        if request.tail is None or request.tail > MAX_KEPT or all(self._tail(log) is not None for log in logs):
            return None
        return LastLines(request.tail)

    def _tail(self, log: Log) -> int | None:
        """For a source that finds its last lines by itself. A filter needs all lines."""
        by_itself = self._access.tails and log.stored is None and not self._request.lines and not self._request.at
        return self._request.tail if by_itself else None

    def _passed_on(self, log: Log, batch: list[pod_logs.PodLogLine], kept: LastLines[_KeptLine] | None) -> Iterator[ReadLine]:
        """The lines that match and are not to be kept."""
        numbers = self.numbers.setdefault(log.source.name, log_lines.Numbering())
        cut = log_lines.MAX_BYTES if self._request.form == "json" else None
        for line in batch:
            sequence = numbers.next(line.nanoseconds)
            is_kept = kept is not None and (not self._request.at or numbers.last < self._request.at)
            if is_kept and not self._request.lines:
                found = None
            else:
                found = log_lines.message(log.source, sequence, line.nanoseconds, line.text)
                if not self._request.lines.matches(found):
                    continue
            if kept is not None and is_kept:
                text = line.text[:cut]
                kept.add(log.source.name, _KeptLine(log.source, sequence, line.nanoseconds, text, len(line.text)), len(text))
            elif found is not None:
                yield ReadLine(found, line.text)

    def _taken(self, kept: LastLines[_KeptLine]) -> Iterator[list[ReadLine]]:
        lines = sorted(kept.take(), key=lambda line: (line.sequence[:19], line.source, line.sequence))
        self.dropped, kept.dropped = self.dropped + kept.dropped, 0
        for start in range(0, len(lines), PART):
            yield [line.read() for line in lines[start : start + PART]]

    async def _batches(self, log: Log) -> AsyncGenerator[list[pod_logs.PodLogLine], None]:
        resumed = pod_logs.Resumed(log.position)
        try:
            async with contextlib.aclosing(self._opened(log)) as batches:
                async with asyncio.timeout(FIRST_SECONDS if self.is_followed and log.stored is None else None):
                    batch = await anext(batches, None)
                while batch is not None:
                    yield [line for line in batch if self._is_new(log, line, resumed)]
                    await asyncio.sleep(0)  # a log whose lines are all there would leave others no time
                    batch = await anext(batches, None)
            log.error, log.complete = "", True
        except errors.ApiError as error:
            log.error = error.message
        except errors.StoreError as error:
            log.error = str(error)
        except TimeoutError:
            pass  # it is read where it is followed

    def _is_new(self, log: Log, line: pod_logs.PodLogLine, resumed: pod_logs.Resumed) -> bool:
        if not resumed.is_new(line) or (self.is_followed and not line.whole and not log.over):
            return False  # the rest of a line may follow
        log.position.took(line)
        return True

    async def _opened(self, log: Log) -> AsyncGenerator[list[pod_logs.PodLogLine], None]:
        wanted = self._request.options(tail=self._tail(log))
        if log.position.last:
            wanted = pod_logs.PodLogOptions(since=log.position.since(), max_line=wanted.max_line)
        if log.stored is not None:
            async for batch in log.stored.lines(wanted):
                yield batch
            return
        position = pod_logs.ContainerReference(log.pod.metadata.namespace, log.pod.name, log.source.container)
        async with contextlib.aclosing(pod_logs.lines(self._access.client, position, wanted)) as batches:
            async for batch in batches:
                yield batch


async def lines(access: LogAccess, logs: list[Log], request: LogRequest) -> AsyncIterator[ReadLine]:
    async with contextlib.aclosing(PresentLines(access, request).read(logs)) as batches:
        async for batch in batches:
            for line in batch:
                yield line


async def page(access: LogAccess, job: job_reader.JobAddress, request: LogRequest) -> LogPage:
    logs = await log_selection.of_job(access, job, request)
    last = LastLines[LogLine](request.limit)
    matches = 0
    async for line in lines(access, logs, request):
        matches += 1
        last.add("", line.message, sys.getsizeof(line.message.text))
    found = last.take()
    return LogPage(lines=found, sources=[log.message() for log in logs], truncated=matches > len(found), matches=matches)
