"""Parses time arguments: an age such as 90s, 5m, 1h30m or 2d, or an RFC 3339 time. Pure."""

from __future__ import annotations

import datetime as dt
import re

from traincrew import errors

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_age(text: str) -> int:
    parts = re.findall(r"([0-9]+)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise errors.SettingsError(f"invalid time {text!r}: expected an age such as 90s, 5m, 1h30m or 2d")
    return sum(int(number) * _UNITS[unit] for number, unit in parts)


def parse_time(text: str, now: dt.datetime) -> dt.datetime:
    """The time itself, or now minus the age. More is accepted than RFC 3339: a date alone, and local time without an offset."""
    if re.match(r"[0-9]{4}-", text):
        try:
            found = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise errors.SettingsError(f"invalid time {text!r}: expected an RFC 3339 time such as 2026-01-31T10:00:00Z") from None
        return found if found.tzinfo else found.astimezone()
    try:
        return now - dt.timedelta(seconds=parse_age(text))
    except errors.SettingsError as error:
        raise errors.SettingsError(f"{error}, or an RFC 3339 time such as 2026-01-31T10:00:00Z") from None
