"""Sizes of the command line, such as 500Mi or 2Gi."""

from __future__ import annotations

from traincrew import errors
from traincrew.apimachinery import quantities


def text(count: int) -> str:
    """`1Gi` for the default of a flag that settings.py has in bytes."""
    return quantities.from_nanos(count * 10**9, quantities.BINARY_SI).canonical()


def parse(flag: str, given: str, minimum: str = "0") -> int:
    """The number of bytes. Raise SettingsError."""
    count = quantities.value(given) if quantities.is_quantity(given) else -1
    if count < quantities.value(minimum):
        least = "" if minimum == "0" else f" of {minimum} or more"
        raise errors.SettingsError(f"invalid {flag} {given!r}: expected a size{least}, such as 500Mi or 2Gi")
    return count
