"""Times as people write them: 90s, 5m, 1h30m, 2d, or a moment in RFC 3339. Pure."""

from __future__ import annotations

import datetime as dt
import re

from traincrew import errors

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> int:
    parts = re.findall(r"([0-9]+)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise errors.SettingsError(f"invalid time {text!r}: expected an age such as 90s, 5m, 1h30m or 2d")
    return sum(int(number) * _UNITS[unit] for number, unit in parts)


def moment(text: str, now: dt.datetime) -> dt.datetime:
    """So long before now, or the moment itself."""
    if re.match(r"[0-9]{4}-", text):
        try:
            found = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise errors.SettingsError(f"invalid time {text!r}: expected an RFC 3339 time such as 2026-01-31T10:00:00Z") from None
        return found if found.tzinfo else found.astimezone()
    return now - dt.timedelta(seconds=seconds(text))
