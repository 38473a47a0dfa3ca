"""Lines of logs as messages: position, time, text and level; which of them a filter selects."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from traincrew.console.contract.logs import Level, LogLine

NANO = 1_000_000_000
MAX_BYTES = 64 * 1024
"""Length at which lines are cut."""
_EXAMINED = 200
"""Characters of a line that are searched for its level: lines begin with it."""
LEVELS: dict[str, int] = {"debug": 0, "": 1, "info": 1, "warning": 2, "error": 3}
_WORDS: tuple[tuple[Level, re.Pattern[str]], ...] = (
    ("error", re.compile(r"\b(error|fatal|critical|panic|exception|traceback)\b|^\[?E\d{4} |\w(Error|Exception)\b:", re.I)),
    ("warning", re.compile(r"\bwarn(ing)?\b|^\[?W\d{4} |\w+Warning:", re.I)),
    ("debug", re.compile(r"\b(debug|trace)\b|^\[?[DV]\d{4} ", re.I)),
    ("info", re.compile(r"\b(info|notice)\b|^\[?I\d{4} ", re.I)),
)
_PARTS = ("error", "fatal", "critical", "panic", "exception", "traceback", "warn", "debug", "trace", "info", "notice")
_GLOG = re.compile(r"\[?[EWDVI]\d{4} ", re.I)
"""Lines with neither have no level: few lines of a training have one, and the patterns above take longer than all the rest."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def level(text: str) -> Level:
    """As far as words at the beginning of the line show it: Python's, glog's and the usual ones."""
    head = text[:_EXAMINED]
    if "\x1b" in head:
        head = _ANSI.sub("", head)
    lower = head.lower()
    if not any(part in lower for part in _PARTS) and not _GLOG.match(head):
        return ""
    return next((name for name, words in _WORDS if words.search(head)), "")


@dataclasses.dataclass
class Numbering:
    """Gives the lines of one log their positions: the time, and a count of lines of the same time."""

    last: int = 0
    count: int = 0

    def next(self, nanoseconds: int) -> str:
        if nanoseconds > self.last:
            self.last, self.count = nanoseconds, 0
        else:  # also a line without a time
            self.count += 1
        return f"{self.last:019d}-{self.count:06d}"


def parse_sequence(sequence: str) -> tuple[int, int] | None:
    """Nanoseconds and count of a position; None if it is not one of ours."""
    if re.fullmatch(r"[0-9]{19}-[0-9]{6}", sequence) is None:
        return None
    last, _, count = sequence.partition("-")
    return int(last), int(count)


def continued(positions: Mapping[str, str]) -> dict[str, Numbering]:
    """For lines behind these positions, by source."""
    starts = {source: parse_sequence(position) for source, position in positions.items()}
    return {source: Numbering(*start) for source, start in starts.items() if start is not None}


class Source(NamedTuple):
    """The log of a container of a replica."""

    replica: str
    container: str

    @property
    def name(self) -> str:
        return f"{self.replica}/{self.container}"


def message(source: Source, sequence: str, nanoseconds: int, raw: bytes, length: int | None = None) -> LogLine:
    """nanoseconds: the time of the line; 0: unknown. length: if the line is cut already."""
    length = len(raw) if length is None else length
    text = raw[:MAX_BYTES].decode("utf-8", "replace")
    return LogLine(
        replica=source.replica,
        source=source.name,
        sequence=sequence,
        time=rfc3339(nanoseconds),
        text=text,
        level=level(text),
        bytes=length if length > MAX_BYTES else 0,
    )


def rfc3339(nanoseconds: int) -> str:
    if not nanoseconds:
        return ""
    return f"{_second(nanoseconds // NANO)}.{nanoseconds % NANO:09d}Z"


@functools.lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%dT%H:%M:%S}"


def in_order(lines: Iterable[LogLine]) -> list[LogLine]:
    """By time. The lines of one source keep their order, because positions begin with the time."""
    return sorted(lines, key=lambda line: (line.sequence[:19], line.source, line.sequence))


@dataclasses.dataclass(frozen=True)
class LineFilter:
    level: str = ""
    """Lines of this level and above. Empty: all lines."""
    contains: Callable[[str], bool] | None = None
    """None: any text."""

    def __bool__(self) -> bool:
        return bool(self.level) or self.contains is not None

    def matches(self, line: LogLine) -> bool:
        if self.level and LEVELS[line.level] < LEVELS[self.level]:
            return False
        return self.contains is None or self.contains(line.text)
