"""Times as Go parses them, with its words for what is none."""

from __future__ import annotations

import calendar
import datetime
import functools
import re

from traincrew.apimachinery import go_wording

LAYOUT = "2006-01-02T15:04:05Z07:00"
MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_CHUNKS = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00|.")


class NotATime(ValueError):
    """The message is Go's."""


@functools.lru_cache(maxsize=4096)
def canonical(text: str) -> str | None:
    """metav1.Time as it is written back: UTC, whole seconds; None for the zero time, which is written as null."""
    moment = _parse(text, LAYOUT)
    return None if moment == _ZERO else f"{moment:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")


@functools.lru_cache(maxsize=4096)
def canonical_micro(text: str) -> str | None:
    """metav1.MicroTime as it is written back."""
    moment = _parse(text, MICRO_LAYOUT)
    return None if moment == _ZERO else f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}".rjust(27, "0")


_ZERO = datetime.datetime(1, 1, 1)


def _parse(text: str, layout: str) -> datetime.datetime:
    rest, parts = text, dict[str, str]()
    for chunk in _CHUNKS.findall(layout):
        found = _FORMS.get(chunk, _literal)(rest, chunk)
        if found is None:
            told = f"cannot parse {go_wording.quote(rest)} as {go_wording.quote(chunk)}"
            raise NotATime(f"parsing time {go_wording.quote(text)} as {go_wording.quote(layout)}: {told}")
        parts[chunk], rest = found
        _check_range(text, chunk, parts[chunk])
        if chunk == "05" and layout == LAYOUT and (fraction := re.match(r"[.,][0-9]+", rest)):
            parts["fraction"], rest = fraction[0], rest[fraction.end() :]
    if rest:
        raise NotATime(f"parsing time {go_wording.quote(text)}: extra text: {go_wording.quote(rest)}")
    return _moment(text, parts)


def _digits(rest: str, chunk: str) -> tuple[str, str] | None:
    found = re.match(rf"[0-9]{{{len(chunk)}}}", rest)
    return (found[0], rest[found.end() :]) if found else None


def _hour(rest: str, chunk: str) -> tuple[str, str] | None:
    found = re.match(r"[0-9]{1,2}", rest)
    return (found[0], rest[found.end() :]) if found else None


def _micro(rest: str, chunk: str) -> tuple[str, str] | None:
    found = re.match(r"[.,][0-9]{6}", rest)
    return (found[0], rest[found.end() :]) if found else None


def _zone(rest: str, chunk: str) -> tuple[str, str] | None:
    found = re.match(r"Z|[+-][0-9]{2}:[0-9]{2}", rest)
    return (found[0], rest[found.end() :]) if found else None


def _literal(rest: str, chunk: str) -> tuple[str, str] | None:
    return (chunk, rest[1:]) if rest.startswith(chunk) else None


_FORMS = {
    "2006": _digits, "01": _digits, "02": _digits, "15": _hour, "04": _digits, "05": _digits, ".000000": _micro, "Z07:00": _zone,
}  # fmt: skip
_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


def _check_range(text: str, chunk: str, value: str) -> None:
    name, least, most = _RANGES.get(chunk, ("", 0, 0))
    if name and not least <= int(value) <= most:
        raise NotATime(f"parsing time {go_wording.quote(text)}: {name} out of range")


def _moment(text: str, parts: dict[str, str]) -> datetime.datetime:
    year, month, day = int(parts["2006"]), int(parts["01"]), int(parts["02"])
    # Go counts years from 0; Python's calendar begins at 1, with leap years of a period of 400.
    if not 1 <= day <= calendar.monthrange(year % 400 or 400, month)[1]:
        raise NotATime(f"parsing time {go_wording.quote(text)}: day out of range")
    micro = (parts.get("fraction") or parts.get(".000000") or ".0")[1:7].ljust(6, "0")
    zone = parts["Z07:00"]
    away = 0 if zone == "Z" else int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[4:6]))
    try:
        local = datetime.datetime(year, month, day, int(parts["15"]), int(parts["04"]), int(parts["05"]), int(micro))
        return local - datetime.timedelta(minutes=away)
    except (ValueError, OverflowError):
        return _ZERO
