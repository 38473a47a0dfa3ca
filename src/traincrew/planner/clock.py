"""Times as they are stored, in whole seconds, and the moments reckoned from them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from traincrew.model.meta import Time


def whole(now: Time) -> Time:
    return now.replace(microsecond=0)


def due(start: Time, seconds: int) -> Time | None:
    """When that many seconds have surely passed: a stored time may be up to a second too early, so it is rounded up.

    None: never, for the number is beyond the calendar.
    """
    try:
        return start + dt.timedelta(seconds=seconds + 1 if seconds > 0 else 0)
    except OverflowError:
        return None


def earliest(moments: Iterable[Time | None]) -> Time | None:
    return min((moment for moment in moments if moment is not None), default=None)
