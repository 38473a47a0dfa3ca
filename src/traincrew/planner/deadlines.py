"""Times in whole seconds, as a status stores them, and the deadlines computed from them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from traincrew.model.meta import Time


def whole(now: Time) -> Time:
    return now.replace(microsecond=0)


def due(start: Time, seconds: float) -> Time | None:
    """The time at which this many seconds have passed for certain: a stored time may be up to a second too early.

    None: the time is beyond the range of dates.
    """
    try:
        return start + dt.timedelta(seconds=seconds + 1 if seconds > 0 else 0)
    except OverflowError:
        return None


def earliest(times: Iterable[Time | None]) -> Time | None:
    return min((time for time in times if time is not None), default=None)
