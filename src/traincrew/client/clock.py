"""The wall clock, for code that is not pure."""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def timestamp() -> str:
    """The current time in the format of metav1.Time."""
    return times.rfc3339(now())
