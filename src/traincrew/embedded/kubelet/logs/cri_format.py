"""The CRI log format: `2026-11-16T06:13:35.123456789Z stdout F text`. PURE."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

NO_TIMESTAMP = b""


class LogRecord(NamedTuple):
    stamp: bytes
    """RFC 3339 with nine digits, so that it can be compared as text."""
    stream: bytes
    whole: bool
    """False: the next record of the same stream continues the line."""
    text: bytes
    """Without the end of line."""


def parse(raw: bytes) -> LogRecord | None:
    """None for a malformed line, for example after a crash."""
    parts = raw.rstrip(b"\n").split(b" ", 3)
    if len(parts) < 3 or parts[1] not in (b"stdout", b"stderr") or not parts[0].endswith(b"Z"):
        return None
    tag = parts[2].split(b":", 1)[0]
    return LogRecord(parts[0], parts[1], tag == b"F", parts[3] if len(parts) > 3 else b"")


def timestamp(moment: dt.datetime) -> bytes:
    """A time in the format of the log, to be compared with its timestamps."""
    utc = moment.astimezone(dt.UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond:06}000Z".encode()


class LogFormatter:
    """Formats records as `kubectl logs` prints them: joins the parts of a line, and adds its timestamp on request."""

    def __init__(self, *, timestamps: bool = False, since: bytes = NO_TIMESTAMP, stream: str = "All") -> None:
        self._timestamps, self._since = timestamps, since
        self._stream = {"Stdout": b"stdout", "Stderr": b"stderr"}.get(stream)
        self._at_start = True

    def feed(self, raw: list[bytes]) -> bytes:
        return b"".join(self._one(line) for each in raw if (line := parse(each)) is not None and self._wanted(line))

    def _wanted(self, line: LogRecord) -> bool:
        return line.stamp >= self._since and self._stream in (None, line.stream)

    def _one(self, line: LogRecord) -> bytes:
        before = line.stamp + b" " if self._timestamps and self._at_start else b""
        self._at_start = line.whole
        return before + line.text + (b"\n" if line.whole else b"")
