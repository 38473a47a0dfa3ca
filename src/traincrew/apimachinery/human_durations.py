"""How long ago something was, for people."""

from __future__ import annotations

import datetime

UNKNOWN = "<unknown>"
INVALID = "<invalid>"
_ZERO = "0001-01-01T00:00:00Z"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class Ages:
    """Ages at one moment. Objects are made in bursts: each second's age is worked out once."""

    def __init__(self, now: datetime.datetime) -> None:
        self._now = now
        self._known: dict[str | None, str] = {None: UNKNOWN, "": UNKNOWN, _ZERO: UNKNOWN}

    def since(self, timestamp: str | None) -> str:
        age = self._known.get(timestamp)
        if age is None:
            age = self._known[timestamp] = self._since(timestamp or "")
        return age

    def _since(self, timestamp: str) -> str:
        then = moment(timestamp)
        return INVALID if then is None else human((self._now - then).total_seconds())


def moment(timestamp: str) -> datetime.datetime | None:
    """None if it is no RFC 3339 time."""
    if len(timestamp) < len("2006-01-02T15:04:05Z") or timestamp[10] != "T":
        return None
    try:
        parsed = datetime.datetime.fromisoformat(_microseconds(timestamp))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else None


def _microseconds(timestamp: str) -> str:
    """Python reads no more than six digits of a second's fraction in some of its versions."""
    if timestamp[19:20] != ".":
        return timestamp
    end = 20
    while timestamp[end : end + 1].isdigit():
        end += 1
    return timestamp[:20] + timestamp[20:end][:6].ljust(6, "0") + timestamp[end:]


def human(elapsed: float) -> str:
    """Two or three significant figures: 5s, 2m30s, 17m, 5h10m, 3d4h, 40d."""
    seconds = int(elapsed)
    if seconds < -1:
        return INVALID
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _pair(seconds // _MINUTE, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _pair(seconds // _HOUR, "h", seconds // _MINUTE % 60, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    return _days(seconds // _HOUR)


def _days(hours: int) -> str:
    days = hours // 24
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _pair(whole: int, unit: str, rest: int, smaller: str) -> str:
    return f"{whole}{unit}{rest}{smaller}" if rest else f"{whole}{unit}"
