"""Times: parsed as Go's time.Parse does, with its errors, and written as metav1.Time and metav1.MicroTime."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from typing import Any

from traincrew.apimachinery.string_cache import cached

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"
EPOCH = "1970-01-01T00:00:00Z"

ZERO = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
"""Go's zero time. Times that Python cannot hold are read as this one too."""

_USUAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z")
_CHUNKS = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00|.")
_FORMS = {
    "2006": re.compile(r"[0-9]{4}"),
    "01": re.compile(r"[0-9]{2}"),
    "02": re.compile(r"[0-9]{2}"),
    "15": re.compile(r"[0-9]{1,2}"),
    "04": re.compile(r"[0-9]{2}"),
    "05": re.compile(r"[0-9]{2}"),
    ".000000": re.compile(r"[.,][0-9]{6}"),
    "Z07:00": re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}"),
}
_FRACTION = re.compile(r"[.,][0-9]+")
_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


class TimeError(ValueError):
    """The text is not a time. The message is Go's."""


def parse(text: str) -> dt.datetime:
    """time.Parse(time.RFC3339, text), in UTC. Raises TimeError."""
    if _USUAL.fullmatch(text):
        try:
            return dt.datetime.fromisoformat(text)
        except ValueError:
            pass  # parsing by layout yields Go's message
    return _parse(text, RFC3339)


def parse_optional(value: Any) -> dt.datetime | None:
    """The time that a field of an object holds, if any."""
    return parse(value) if isinstance(value, str) and value else None


def rfc3339(moment: dt.datetime) -> str:
    """As metav1.Time is written: UTC, whole seconds."""
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds")[:19] + "Z"


def rfc3339_milli(moment: dt.datetime) -> str:
    """For log lines."""
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def rfc3339_micro(moment: dt.datetime) -> str:
    """As metav1.MicroTime is written."""
    return moment.astimezone(dt.UTC).isoformat(timespec="microseconds")[:26] + "Z"


@cached(4096)
def canonical(text: str) -> str | None:
    """A metav1.Time as it is written back; None for the zero time, which is written as null."""
    moment = parse(text)
    return None if moment == ZERO else rfc3339(moment)


@cached(4096)
def canonical_micro(text: str) -> str | None:
    """A metav1.MicroTime as it is written back."""
    moment = _parse(text, RFC3339_MICRO)
    return None if moment == ZERO else rfc3339_micro(moment)


def later(moment: dt.datetime, seconds: float) -> dt.datetime:
    return moment + dt.timedelta(seconds=seconds)


def earliest(*moments: dt.datetime | None) -> dt.datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _parse(text: str, layout: str) -> dt.datetime:
    rest, parts = text, dict[str, str]()
    for chunk in _CHUNKS.findall(layout):
        form = _FORMS.get(chunk)
        match = form.match(rest) if form is not None else None
        if match is None and not (form is None and rest.startswith(chunk)):
            unread = f"cannot parse {_quote(rest)} as {_quote(chunk)}"
            raise TimeError(f"parsing time {_quote(text)} as {_quote(layout)}: {unread}")
        parts[chunk] = match[0] if match is not None else chunk
        rest = rest[len(parts[chunk]) :]
        _check_range(text, chunk, parts[chunk])
        if chunk == "05" and layout == RFC3339 and (fraction := _FRACTION.match(rest)):
            parts["fraction"], rest = fraction[0], rest[fraction.end() :]
    if rest:
        raise TimeError(f"parsing time {_quote(text)}: extra text: {_quote(rest)}")
    return _moment(text, parts)


def _check_range(text: str, chunk: str, value: str) -> None:
    if chunk == "Z07:00":
        wrong = _wrong_offset(value)
    else:
        name, least, most = _RANGES.get(chunk, ("", 0, 0))
        wrong = name if name and not least <= int(value) <= most else ""
    if wrong:
        raise TimeError(f"parsing time {_quote(text)}: {wrong} out of range")


def _wrong_offset(zone: str) -> str:
    """Go allows 24 hours and 60 minutes."""
    if zone == "Z":
        return ""
    return "time zone offset hour" if int(zone[1:3]) > 24 else "time zone offset minute" if int(zone[4:6]) > 60 else ""


def _moment(text: str, parts: dict[str, str]) -> dt.datetime:
    year, month, day = int(parts["2006"]), int(parts["01"]), int(parts["02"])
    # Go counts years from 0; Python's calendar begins at 1, with leap years of a period of 400.
    if not 1 <= day <= calendar.monthrange(year % 400 or 400, month)[1]:
        raise TimeError(f"parsing time {_quote(text)}: day out of range")
    micro = (parts.get("fraction") or parts.get(".000000") or ".0")[1:7].ljust(6, "0")
    zone = parts["Z07:00"]
    away = 0 if zone == "Z" else int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[4:6]))
    try:
        local = dt.datetime(year, month, day, int(parts["15"]), int(parts["04"]), int(parts["05"]), int(micro), dt.UTC)
        return local - dt.timedelta(minutes=away)
    except (ValueError, OverflowError):
        return ZERO


def _quote(text: str) -> str:
    """Quotes as Go's time package does, more simply than strconv.Quote: non-printable and non-ASCII characters become bytes."""
    return '"' + "".join(_quote_character(character) for character in text) + '"'


def _quote_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if " " <= character < "\x80":
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
