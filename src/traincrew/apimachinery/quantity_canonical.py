"""Quantities as an API server reads and writes them back: `1000m` becomes `1`, `1.5Gi` becomes `1536Mi`."""

from __future__ import annotations

import functools
import re

_FORM = re.compile(r"([+-]?)(0*)([0-9]*)(?:(\.)([0-9]*))?((?:[eEinumkKMGTP]*)(?:[-+]?[0-9]*))")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = {exponent: suffix for suffix, exponent in _BINARY.items()}
_LARGEST = 2**63 - 1
_SMALLEST = -9
"""Powers of ten: nothing finer is kept."""
_DIGITS = 18
"""So many fit into 64 bits for certain; longer numbers take another way through the API server, and are rounded there."""

WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"
WRONG_NUMBER = "unable to parse numeric part of quantity"


class NotAQuantity(ValueError):
    """The message is the API server's."""


@functools.lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    text = text.strip(" \t\n\v\f\r")
    form = _FORM.fullmatch(text) if text else None
    if form is None:
        raise NotAQuantity(WRONG_FORM)
    sign, zeros, whole, point, fraction, suffix = form.groups()
    digits, shift = (whole or ("0" if point or suffix else "")) + (fraction or ""), len(fraction or "")
    if suffix in _BINARY:
        return _binary(form, digits, shift)
    exponent, scientific = _decimal_exponent(suffix)
    exponent -= shift
    mantissa = int(digits or "0")
    if len(digits) <= _DIGITS and exponent >= _SMALLEST:
        if exponent % 3 == 0 and not digits.endswith("000") and digits[:1] not in ("", "0"):
            return text
    elif not (zeros or whole or fraction):
        raise NotAQuantity(WRONG_NUMBER)
    else:
        mantissa, exponent = _rounded(mantissa, exponent)
    return _decimal(sign, mantissa, exponent, scientific)


def _decimal_exponent(suffix: str) -> tuple[int, bool]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], False
    if suffix[:1] in ("e", "E") and re.fullmatch(r"[+-]?[0-9]{1,9}", suffix[1:]):
        return int(suffix[1:]), True
    raise NotAQuantity(WRONG_SUFFIX)


def _rounded(mantissa: int, exponent: int) -> tuple[int, int]:
    """Away from zero, to what is kept."""
    if exponent >= _SMALLEST or not mantissa:
        return mantissa, exponent
    lost = min(_SMALLEST - exponent, len(str(mantissa)) + 1)
    return -(-mantissa // 10**lost), _SMALLEST


def _binary(form: re.Match[str], digits: str, shift: int) -> str:
    power, mantissa = _BINARY[form[6]], int(digits)
    if not shift and len(digits) + power * 3 // 10 <= 14:
        if mantissa & 7:
            return form[0]
    elif not (form[2] or form[3] or form[5]):
        raise NotAQuantity(WRONG_NUMBER)
    sign = form[1]
    unscaled, exponent = _rounded(mantissa << power, -shift)
    if unscaled > _LARGEST * 10**-exponent:
        unscaled, exponent = _LARGEST, 0
    value, rest = divmod(unscaled, 10**-exponent)
    if rest or value < 1024:
        return _decimal(sign, unscaled, exponent, scientific=False)
    times = 0
    while value % 1024 == 0:
        value, times = value >> 10, times + 1
    return f"{_minus(sign)}{value}{_BINARY_SUFFIXES.get(times * 10, '')}"


def _decimal(sign: str, mantissa: int, exponent: int, scientific: bool) -> str:
    if not mantissa:
        return "0"
    while mantissa % 10 == 0:
        mantissa, exponent = mantissa // 10, exponent + 1
    while exponent % 3:
        mantissa, exponent = mantissa * 10, exponent - 1
    if exponent and scientific:
        return f"{_minus(sign)}{mantissa}e{exponent}"
    # Beyond the largest suffix the API server writes none, and the number is another.
    return f"{_minus(sign)}{mantissa}{_SUFFIXES.get(exponent, '')}"


def _minus(sign: str) -> str:
    return "-" if sign == "-" else ""
