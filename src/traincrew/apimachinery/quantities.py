"""Quantities as the Go type reads, compares and writes them: `0.5` is stored as `500m`, `1024Mi` as `1Gi`."""

from __future__ import annotations

import functools
import re

_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([eE])([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = ("", *_BINARY)
_LARGEST = (2**63 - 1) * 10**9

_NANO = 10**9
_MILLI = 10**6

Quantity = str | int | float


@functools.lru_cache(maxsize=8192)
def _read(text: str) -> tuple[int, str]:
    """How many billionths, and which family of suffixes: `10`, `2` or `e`."""
    found = _FORM.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        raise ValueError(f"{text!r} is no quantity")
    sign, whole, fraction, exponential, exponent, suffix = found.groups()
    fraction = fraction or ""
    digits = int(whole + fraction)
    if suffix in _BINARY:
        amount = min(_up(digits << _BINARY[suffix], 9 - len(fraction)), _LARGEST)
        return (-amount if sign == "-" else amount), "2"
    scale = int(exponent) if exponential else _DECIMAL[suffix or ""]
    amount = _up(digits, max(scale, -99) + 9 - len(fraction))
    return (-amount if sign == "-" else amount), "e" if exponential else "10"


def _up(digits: int, scale: int) -> int:
    """Times ten to the scale; what is lost makes the number larger, never smaller."""
    return int(digits * 10**scale) if scale >= 0 else -int(-digits // 10**-scale)


def nanos(value: Quantity) -> int:
    """The number in billionths, so that comparing and adding is exact."""
    return _read(str(value))[0]


def is_quantity(value: Quantity) -> bool:
    try:
        _read(str(value))
    except ValueError:
        return False
    return True


def whole(value: Quantity) -> int:
    """Rounded up, as the Go type's Value() does."""
    return -(-nanos(value) // _NANO)


def is_whole(value: Quantity) -> bool:
    return -(-nanos(value) // _MILLI) % 1000 == 0


@functools.lru_cache(maxsize=8192)
def _canonical(text: str) -> str:
    amount, family = _read(text)
    return written(amount, family)


def canonical(value: Quantity) -> str:
    return _canonical(str(value))


@functools.lru_cache(maxsize=8192)
def _in_milli(text: str) -> str:
    amount, family = _read(text)
    return written(-(-amount // _MILLI) * _MILLI if amount >= 0 else amount // _MILLI * _MILLI, family)


def resource(value: Quantity) -> str:
    """In a list of resources nothing is finer than a thousandth."""
    return _in_milli(str(value))


def family(value: Quantity) -> str:
    return _read(str(value))[1]


def written(amount: int, family: str) -> str:
    if amount == 0:
        return "0"
    if family == "2" and abs(amount) >= 1024 * _NANO and amount % _NANO == 0:
        return _binary(amount // _NANO)
    exponent = -9
    while amount % 1000 == 0:
        amount //= 1000
        exponent += 3
    if family == "e":
        return f"{amount}e{exponent}" if exponent else str(amount)
    while exponent > 18:
        amount *= 1000
        exponent -= 3
    return f"{amount}{_DECIMAL_SUFFIX[exponent]}"


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < 6:
        number //= 1024
        power += 1
    return f"{number}{_BINARY_SUFFIX[power]}"


def added(values: list[Quantity]) -> str:
    """The sum, in the family of the first that is not zero."""
    first = next((value for value in values if nanos(value)), "0")
    return written(sum(map(nanos, values)), family(first))


def go_syntax(value: Quantity) -> str:
    """A quantity as Go prints the struct, which some messages show."""
    amount, form = _read(str(value))
    scale = -9
    while amount and amount % 1000 == 0 and scale < 0:
        amount //= 1000
        scale += 3
    kind = {"10": "DecimalSI", "2": "BinarySI", "e": "DecimalExponent"}[form]
    cached = canonical(value)
    number = f"i:resource.int64Amount{{value:{amount}, scale:{scale}}}, d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}"
    return f'resource.Quantity{{{number}, s:"{cached}", Format:"{kind}"}}'
