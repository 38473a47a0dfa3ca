"""The log of a container, line by line with timestamps, so that reading can be resumed."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import re
from collections.abc import AsyncGenerator
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.client.interfaces import LogReader
from traincrew.model import resources

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?")
NANO = 1_000_000_000


class PodLogLine(NamedTuple):
    nanoseconds: int
    """Since 1970. 0 if the line has no timestamp."""
    text: bytes
    """Without the newline."""
    whole: bool = True


def timestamp(line: PodLogLine) -> dt.datetime:
    """The time of a line that has a timestamp."""
    return dt.datetime.fromtimestamp(line.nanoseconds / NANO, dt.UTC)


class ContainerReference(NamedTuple):
    namespace: str
    pod: str
    container: str


@dataclasses.dataclass
class LogPosition:
    """How far the log of a container has been read, across its runs. Several lines may have the same timestamp."""

    last: int = 0
    count: int = 0
    """Number of lines with the last timestamp."""

    def since(self) -> str:
        """The timestamp for sinceTime, whose resolution is one second."""
        moment = dt.datetime.fromtimestamp(self.last // NANO, dt.UTC)
        return times.rfc3339(moment) if self.last else ""

    def took(self, line: PodLogLine) -> None:
        if line.nanoseconds > self.last:
            self.last, self.count = line.nanoseconds, 0
        self.count += line.nanoseconds == self.last


class Resumed:
    """Skips the lines that were read before, when a log is read again from the second of the last line."""

    def __init__(self, position: LogPosition) -> None:
        self._last, self._known = position.last, position.count

    def is_new(self, line: PodLogLine) -> bool:
        if line.nanoseconds > self._last or not line.nanoseconds:
            return True
        if line.nanoseconds == self._last and self._known == 0:
            return True
        self._known -= line.nanoseconds == self._last
        return False


@dataclasses.dataclass(frozen=True)
class PodLogOptions:
    follow: bool = False
    previous: bool = False
    tail: int | None = None
    since_seconds: int | None = None
    since: str = ""
    """RFC 3339, in whole seconds."""
    max_line: int | None = None
    """Bytes of a line that are kept: a container may print without end and without a newline. None: all."""

    def query(self, container: str) -> dict[str, str]:
        query = {"container": container, "timestamps": "true"}
        if self.follow:
            query["follow"] = "true"
        if self.previous:
            query["previous"] = "true"
        if self.tail is not None:
            query["tailLines"] = str(self.tail)
        if self.since:
            query["sinceTime"] = self.since
        elif self.since_seconds is not None:
            query["sinceSeconds"] = str(max(self.since_seconds, 1))
        return query


class LineSplitter:
    """Splits chunks into lines."""

    def __init__(self, max_line: int | None = None) -> None:
        self._max_line = max_line
        self.partial = bytearray()
        """The line that is not complete yet."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, with their timestamps and without their newlines."""
        first, *others = chunk.split(b"\n")
        self._append(first)
        complete = list[bytes]()
        for piece in others:
            complete.append(bytes(self.partial))
            self.partial = bytearray()
            self._append(piece)
        return complete

    def _append(self, piece: bytes) -> None:
        self.partial += piece
        if self._max_line is not None:
            del self.partial[self._max_line :]


async def lines(
    client: LogReader, position: ContainerReference, options: PodLogOptions
) -> AsyncGenerator[list[PodLogLine], None]:
    """Batches of lines as they arrive. The first batch is empty: the server has accepted the request. Raises ApiError."""
    stream = client.stream(resources.PODS, position.namespace, position.pod, "log", options.query(position.container))
    splitter = LineSplitter(options.max_line)
    async with contextlib.aclosing(stream) as chunks:
        async for chunk in chunks:
            yield [parse(raw) for raw in splitter.feed(chunk)]
    if splitter.partial:
        yield [parse(bytes(splitter.partial))._replace(whole=False)]


def encode(line: PodLogLine) -> bytes:
    """The line with its timestamp, as the kubelet prints it."""
    if not line.nanoseconds:
        return line.text
    moment = dt.datetime.fromtimestamp(line.nanoseconds // NANO, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{line.nanoseconds % NANO:09}Z ".encode() + line.text


def parse(raw: bytes) -> PodLogLine:
    match = _STAMP.match(raw)
    if match is None:
        return PodLogLine(0, raw)
    second, fraction, zone = match.groups()
    return PodLogLine(_seconds(second + zone) * NANO + int((fraction or b"0").ljust(9, b"0")), raw[match.end() :])


@functools.lru_cache(maxsize=1024)
def _seconds(time: bytes) -> int:
    """Since 1970. A program may print a hundred thousand lines in a second."""
    return int(times.parse(time.decode()).timestamp())
