"""Writes numbers of bytes for people, in binary units."""

from __future__ import annotations

from collections.abc import Mapping

_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

EXACT: Mapping[str, str] = dict.fromkeys(_BYTES, ".4g")
"""Amounts that people compare, such as limits and requests."""
MEASURED_MEMORY: Mapping[str, str] = {"MiB": ".0f", "GiB": ".1f"}
FILE_SIZE: Mapping[str, str] = {"KiB": ".1f", "MiB": ".1f"}


def text(count: float, formats: Mapping[str, str] = EXACT) -> str:
    """formats: by unit, the smallest first. The largest unit that is not larger than the number is chosen."""
    smallest = next(iter(formats))
    unit = next((each for each in reversed(list(formats)) if count >= _BYTES[each]), smallest)
    return f"{count / _BYTES[unit]:{formats[unit]}} {unit}"
