"""Times as the API writes them, to the second, and durations as Go writes them."""

from __future__ import annotations

import datetime as dt
from typing import Any

EPOCH = "1970-01-01T00:00:00Z"


def read(text: Any) -> dt.datetime | None:
    if not isinstance(text, str) or not text:
        return None
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


def written(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds: int) -> str:
    """`10s`, `1m20s`, `5m0s`."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def later(moment: dt.datetime, seconds: float) -> dt.datetime:
    return moment + dt.timedelta(seconds=seconds)


def earliest(*moments: dt.datetime | None) -> dt.datetime | None:
    known = [moment for moment in moments if moment is not None]
    return min(known) if known else None
