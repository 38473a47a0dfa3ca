"""Times as Go's time.Parse reads RFC 3339, faults included."""

from __future__ import annotations

import calendar
import datetime
import re

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_DIGITS = r"[0-9]{2}"
_PARTS = (
    ("2006", r"[0-9]{4}", ""), ("-", "-", ""), ("01", _DIGITS, "month"), ("-", "-", ""), ("02", _DIGITS, "day"), ("T", "T", ""),
    ("15", r"[0-9]{1,2}", "hour"), (":", ":", ""), ("04", _DIGITS, "minute"), (":", ":", ""), ("05", _DIGITS, "second"),
    ("Z07:00", r"(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})", ""),
)  # fmt: skip
_RANGES = {"month": (1, 12), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}


class BadMoment(ValueError):
    """The message is Go's."""


def parse(text: str) -> datetime.datetime:
    rest, found = text, []
    for name, pattern, unit in _PARTS:
        match = re.match(pattern, rest)
        if match is None:
            raise BadMoment(f'parsing time "{text}" as "{_LAYOUT}": cannot parse "{rest}" as "{name}"')
        if unit in _RANGES and not _RANGES[unit][0] <= int(match[0]) <= _RANGES[unit][1]:
            raise BadMoment(f'parsing time "{text}": {unit} out of range')
        rest = rest[match.end() :]
        found.append(match[0])
    if rest:
        raise BadMoment(f'parsing time "{text}": extra text: "{rest}"')
    return _made(text, [int(found[index]) for index in (0, 2, 4, 6, 8, 10)], found[11])


def _made(text: str, numbers: list[int], end: str) -> datetime.datetime:
    year, month, day, *clock = numbers
    if not 1 <= day <= calendar.monthrange(year or 4, month)[1]:
        raise BadMoment(f'parsing time "{text}": day out of range')
    # Python's years begin with 1 and its seconds have six digits: nothing that is asked for here shows the difference.
    zone = _zone(text, end)
    if year == 0:
        return datetime.datetime.min.replace(tzinfo=datetime.UTC)
    hour, minute, second = clock
    fraction = re.match(r"[.,]([0-9]+)", end)
    micro = int(fraction[1][:6].ljust(6, "0")) if fraction else 0
    return datetime.datetime(year, month, day, hour, minute, second, micro, zone)


def _zone(text: str, end: str) -> datetime.timezone:
    if end.endswith("Z"):
        return datetime.UTC
    hours, minutes = int(end[-5:-3]), int(end[-2:])
    if hours > 23:
        raise BadMoment(f'parsing time "{text}": time zone offset hour out of range')
    if minutes > 59:
        raise BadMoment(f'parsing time "{text}": time zone offset minute out of range')
    offset = datetime.timedelta(hours=hours, minutes=minutes)
    return datetime.timezone(-offset if end[-6] == "-" else offset)
