"""Kubernetes quantities: `500m`, `2Gi`, `1e3`."""

from __future__ import annotations

import decimal

_SUFFIXES = {
    "n": "1e-9", "u": "1e-6", "m": "1e-3", "": "1", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15", "E": "1e18",
    "Ki": str(2**10), "Mi": str(2**20), "Gi": str(2**30), "Ti": str(2**40), "Pi": str(2**50), "Ei": str(2**60),
}  # fmt: skip


def parse(quantity: str | int | float) -> decimal.Decimal:
    """The number a quantity stands for; ValueError if it is none."""
    text = str(quantity).strip()
    number = text.rstrip("KMGTPEikmun") if not text[-1:].isdigit() else text
    try:
        return decimal.Decimal(number) * decimal.Decimal(_SUFFIXES[text[len(number) :]])
    except (decimal.InvalidOperation, KeyError) as error:
        raise ValueError(f"{quantity!r} is not a quantity such as 2, 500m or 4Gi") from error


def render(value: decimal.Decimal) -> str:
    """The canonical decimal form: whole numbers plain, fractions in milli."""
    if value == value.to_integral_value():
        return str(int(value))
    return f"{int((value * 1000).to_integral_value(decimal.ROUND_UP))}m"


def total(quantities: list[str | int | float]) -> str:
    """The sum; in the binary suffix that all of them divide by, as the API server would print a sum of Gi."""
    value = sum((parse(quantity) for quantity in quantities), decimal.Decimal(0))
    for suffix in ("Gi", "Mi", "Ki"):
        unit = decimal.Decimal(_SUFFIXES[suffix])
        if value and value % unit == 0 and any(str(q).endswith("i") for q in quantities):
            return f"{int(value / unit)}{suffix}"
    return render(value)
