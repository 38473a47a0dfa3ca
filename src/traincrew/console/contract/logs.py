"""Lines of logs."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message

Level = Literal["", "debug", "info", "warning", "error"]
"""As far as the text of a line shows it. Empty: unknown."""


class LogLine(Message, kw_only=True):
    """(source, sequence) identifies a line, and it stays the same as long as the line is kept."""

    replica: str
    """Such as `worker-1`."""
    source: str
    """`replica/container`: the log that the line belongs to."""
    sequence: str
    """The position in the log: digits and a dash, of constant length. Strings compare as the lines follow each other."""
    time: str
    """RFC 3339 with nanoseconds, UTC. Empty: unknown."""
    text: str
    """Without the newline; may have control characters and ANSI sequences. Bytes that are not UTF-8 are `\ufffd`."""
    level: Level = ""
    bytes: int = 0
    """Length of a line that is cut, as far as it was read. 0: the line is complete."""


class LogSource(Message, kw_only=True):
    """A log, and whether it has ended."""

    source: str
    replica: str
    container: str
    pod: str
    ended: bool
    exit_code: int | None = None
    reason: str = ""
    """Such as `Completed`, `Error`, `OOMKilled`."""
    error: str = ""
    """Why the log cannot be read. Empty: it is read."""


class LogBatch(Message, kw_only=True):
    """Lines of all logs, merged by time."""

    lines: list[LogLine]
    sources: list[LogSource] = []
    """Logs that are new, ended or cannot be read since the message before."""
    skipped: int = 0
    """Lines before these that were not sent: the page reads slower than the job writes, or the last lines are more than the
    console keeps."""


class LogPage(Message, kw_only=True):
    """The answer to `GET …/logs`."""

    lines: list[LogLine]
    sources: list[LogSource]
    truncated: bool
    """There are more lines that match: `limit` was reached. The last ones are in the answer."""
    matches: int
    """Number of lines that match, of all that are kept."""
