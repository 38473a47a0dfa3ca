"""The log of a container, line by line with timestamps, so that reading can be resumed."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import re
from collections.abc import AsyncGenerator
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.client.remote import RemoteClient
from traincrew.model import resources

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?")
NANO = 1_000_000_000


class Line(NamedTuple):
    nanoseconds: int
    """Since 1970; 0 if the server wrote no time before the line."""
    text: bytes
    """Without the end of the line."""
    whole: bool = True


class LogPosition(NamedTuple):
    namespace: str
    pod: str
    container: str


@dataclasses.dataclass
class Position:
    """How far a container's log has been read, over all of its runs. Times never go back, but several lines may share one."""

    last: int = 0
    count: int = 0
    """Lines that bear the last time."""

    def since(self) -> str:
        """The second to ask from: the API knows no finer times."""
        moment = dt.datetime.fromtimestamp(self.last // NANO, dt.UTC)
        return times.rfc3339(moment) if self.last else ""

    def took(self, line: Line) -> None:
        if line.nanoseconds > self.last:
            self.last, self.count = line.nanoseconds, 0
        self.count += line.nanoseconds == self.last


class Resumed:
    """Passes over what was read before, when a log is read again from the second of the last line."""

    def __init__(self, position: Position) -> None:
        self._last, self._known = position.last, position.count

    def is_new(self, line: Line) -> bool:
        if line.nanoseconds > self._last or not line.nanoseconds:
            return True
        if line.nanoseconds == self._last and self._known == 0:
            return True
        self._known -= line.nanoseconds == self._last
        return False


@dataclasses.dataclass(frozen=True)
class Wanted:
    follow: bool = False
    previous: bool = False
    tail: int | None = None
    since_seconds: int | None = None
    since: str = ""
    """RFC 3339, in whole seconds."""

    def query(self, container: str) -> dict[str, str]:
        found = {"container": container, "timestamps": "true"}
        if self.follow:
            found["follow"] = "true"
        if self.previous:
            found["previous"] = "true"
        if self.tail is not None:
            found["tailLines"] = str(self.tail)
        if self.since:
            found["sinceTime"] = self.since
        elif self.since_seconds is not None:
            found["sinceSeconds"] = str(max(self.since_seconds, 1))
        return found


async def lines(client: RemoteClient, place: LogPosition, wanted: Wanted) -> AsyncGenerator[list[Line], None]:
    """In bunches as they come. The first is empty: the server has agreed to tell. Raises what the server says instead."""
    stream = client.stream(resources.PODS, place.namespace, place.pod, "log", wanted.query(place.container))
    begun = b""
    async with contextlib.aclosing(stream) as chunks:
        async for chunk in chunks:
            *ended, begun = (begun + chunk).split(b"\n")
            yield [parse(raw) for raw in ended]
    if begun:
        yield [parse(begun)._replace(whole=False)]


def parse(raw: bytes) -> Line:
    found = _STAMP.match(raw)
    if found is None:
        return Line(0, raw)
    second, fraction, zone = found.groups()
    moment = dt.datetime.fromisoformat((second + (b"+00:00" if zone == b"Z" else zone)).decode())
    return Line(int(moment.timestamp()) * NANO + int((fraction or b"0").ljust(9, b"0")), raw[found.end() :])
