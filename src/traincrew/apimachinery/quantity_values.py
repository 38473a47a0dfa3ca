"""Kubernetes quantities: `500m`, `2Gi`, `1e3`."""

from __future__ import annotations

import decimal
import re

_SUFFIXES = {
    "n": "1e-9", "u": "1e-6", "m": "1e-3", "": "1", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15", "E": "1e18",
    "Ki": str(2**10), "Mi": str(2**20), "Gi": str(2**30), "Ti": str(2**40), "Pi": str(2**50), "Ei": str(2**60),
}  # fmt: skip
_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i)?)")
_LARGEST = decimal.Decimal(2**63 - 1)
"""The API server cuts larger quantities off at this."""


def parse(quantity: str | int | float) -> decimal.Decimal:
    """The number a quantity stands for; ValueError if it is none."""
    form = _FORM.fullmatch(str(quantity))
    if form is None:
        raise ValueError(f"{quantity!r} is not a quantity such as 2, 500m or 4Gi")
    number, exponent, suffix = form.groups()
    unit = decimal.Decimal(f"1e{exponent}") if exponent is not None else decimal.Decimal(_SUFFIXES[suffix or ""])
    return max(min(decimal.Decimal(number) * unit, _LARGEST), -_LARGEST)


def render(value: decimal.Decimal) -> str:
    """The canonical decimal form: whole numbers plain, fractions in milli."""
    if value == value.to_integral_value():
        return str(int(value))
    return f"{int((value * 1000).to_integral_value(decimal.ROUND_UP))}m"


def total(quantities: list[str | int | float]) -> str:
    """The sum; if some are written in Gi, Mi or Ki, in the largest of these that divides it."""
    value = sum((parse(quantity) for quantity in quantities), decimal.Decimal(0))
    for suffix in ("Gi", "Mi", "Ki"):
        unit = decimal.Decimal(_SUFFIXES[suffix])
        if value and value % unit == 0 and any(str(q).endswith("i") for q in quantities):
            return f"{int(value / unit)}{suffix}"
    return render(value)
