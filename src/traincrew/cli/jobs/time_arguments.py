"""Times of the command line: an age such as 90s, 5m, 1h30m or 2d, or an RFC 3339 time. Pure."""

from __future__ import annotations

import datetime as dt
import re

from traincrew import errors
from traincrew.cli import duration


def parse_duration(text: str) -> float:
    """Seconds. Raise SettingsError."""
    try:
        return duration.parse(text)
    except ValueError as error:
        raise errors.SettingsError(f"invalid duration: {error}") from None


def parse_time(text: str, now: dt.datetime) -> dt.datetime:
    """The time itself, or now minus the age, in UTC. Raise SettingsError.

    More is accepted than RFC 3339: a date alone, and local time without an offset.
    """
    try:
        return _parsed(text, now).astimezone(dt.UTC)
    except (OverflowError, ValueError):
        limit = "must be between 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z"
        raise errors.SettingsError(f"invalid time {text!r}: {limit}") from None


def _parsed(text: str, now: dt.datetime) -> dt.datetime:
    """Raise SettingsError; OverflowError if it is out of range. Without an offset it is local time."""
    if re.match(r"[0-9]{4}-", text):
        try:
            return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise errors.SettingsError(f"invalid time {text!r}: expected an RFC 3339 time such as 2026-01-31T10:00:00Z") from None
    try:
        if not text[-1:].isdecimal():  # seconds, or the beginning of a date?
            return now - dt.timedelta(seconds=duration.parse(text))
    except ValueError:
        pass
    expected = "expected an age such as 90s, 5m, 1h30m or 2d, or an RFC 3339 time such as 2026-01-31T10:00:00Z"
    raise errors.SettingsError(f"invalid time {text!r}: {expected}")
