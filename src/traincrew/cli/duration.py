"""Durations of the command line: 90s, 5m, 1h30m, 2d, or a number of seconds."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"


def parse(given: str) -> float:
    """Seconds. Raise ValueError."""
    if re.fullmatch(_NUMBER, given):
        return float(given)
    parts = re.findall(f"({_NUMBER})([smhd])", given)
    if not parts or "".join(number + unit for number, unit in parts) != given:
        raise ValueError(f"expected a duration such as 90s, 5m, 1h30m or 2d, got {given!r}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def text(seconds: float) -> str:
    """In the largest unit of which it is a whole number, as people write it: 10s, 90s, 5m, 12h."""
    unit = next((unit for unit in reversed(_UNITS) if seconds and seconds % _UNITS[unit] == 0), "s")
    return f"{seconds / _UNITS[unit]:g}{unit}"


class Duration(click.ParamType[float]):
    """The type of a flag whose value is a number of seconds. The metavar of such a flag is DURATION."""

    name = "duration"

    def __init__(self, minimum: float = 0.0, maximum: float = float("inf")) -> None:
        self._minimum, self._maximum = minimum, maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = parse(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)
        if seconds < self._minimum:
            self.fail(f"{value} is less than the minimum of {text(self._minimum)}.", param, ctx)
        if seconds > self._maximum:
            self.fail(f"{value} is more than the maximum of {text(self._maximum)}.", param, ctx)
        return seconds
