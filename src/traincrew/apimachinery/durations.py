"""Durations: Go's time.Duration as text, and the ages that kubectl prints."""

from __future__ import annotations

import datetime as dt
import re

from traincrew.apimachinery import times

UNKNOWN = "<unknown>"
INVALID = "<invalid>"
_ZERO_TIME = "0001-01-01T00:00:00Z"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


def parse(text: str) -> dt.timedelta:
    """time.ParseDuration: `15s`, `1m0.5s`. Raises ValueError with Go's message."""
    rest = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if rest == "0":
        return dt.timedelta()
    parts = _PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise ValueError(f'time: invalid duration "{text}"')
    total = dt.timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    return -total if text.startswith("-") else total


def render(seconds: int) -> str:
    """time.Duration.String() of whole seconds: `10s`, `1m20s`, `5m0s`."""
    hours, rest = divmod(seconds, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


class Ages:
    """Ages at one moment. Objects are created in bursts: the age of each second is computed once."""

    def __init__(self, now: dt.datetime) -> None:
        self._now = now
        self._known: dict[str | None, str] = {None: UNKNOWN, "": UNKNOWN, _ZERO_TIME: UNKNOWN}

    def since(self, timestamp: str | None) -> str:
        age = self._known.get(timestamp)
        if age is None:
            age = self._known[timestamp] = self._since(timestamp or "")
        return age

    def _since(self, timestamp: str) -> str:
        try:
            return human((self._now - times.parse(timestamp)).total_seconds())
        except times.TimeError:
            return INVALID


def age(moment: dt.datetime | None, now: dt.datetime) -> str:
    """The age that kubectl prints; `-` if the time is not known."""
    return human((now - moment).total_seconds()) if moment is not None else "-"


def human(elapsed: float) -> str:
    """duration.HumanDuration: two or three significant figures, such as 5s, 2m30s, 17m, 5h10m, 3d4h, 40d."""
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


def _pair(count: int, unit: str, rest: int, smaller: str) -> str:
    return f"{count}{unit}{rest}{smaller}" if rest else f"{count}{unit}"
