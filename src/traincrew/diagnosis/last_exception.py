"""An exception as the last output of a process that still runs: it waits for others at its end, or in another thread."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.diagnosis import rank_streams, tracebacks
from traincrew.model.meta import Time

QUIET = dt.timedelta(seconds=10)
"""Python and its libraries need some time to exit after an exception."""
EVIDENCE_LINES = 8


@dataclasses.dataclass(frozen=True)
class LastException:
    summary: str
    evidence: tuple[str, ...]


def find(output: str, last_output: Time, now: Time) -> LastException | None:
    """None: the output does not end with an exception, or it is too young."""
    streams = rank_streams.separate(output)
    if now - last_output < QUIET or not streams:
        return None
    stream = max(streams, key=lambda each: max((line.number for line in each.lines if line.text.strip()), default=-1))
    found = tracebacks.exceptions(stream.lines)
    last = next((line.text.strip() for line in reversed(stream.lines) if line.text.strip()), "")
    # Lines after that of the exception belong to its message, or to a program that goes on.
    if not found or not found[-1].fatal or found[-1].printed.strip() != last:
        return None
    return LastException(found[-1].summary, found[-1].evidence[:EVIDENCE_LINES])
