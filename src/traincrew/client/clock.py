"""The clock of everything that is not pure."""

from __future__ import annotations

import datetime as dt

from traincrew.apimachinery import times


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def timestamp() -> str:
    """Now, as metav1.Time is written."""
    return times.rfc3339(now())
