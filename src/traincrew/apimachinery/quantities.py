"""resource.Quantity: parses, compares, adds and writes quantities such as `500m`, `2Gi` and `1e3` exactly as Go does.

Every step is linear in the length of the text. Powers of ten are built only up to `_LIMIT`, so that neither `1e1000000` nor
thousands of digits cost anything.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

DECIMAL_SI, BINARY_SI, DECIMAL_EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMERIC_WRONG = "unable to parse numeric part of quantity"
SUFFIX_WRONG = "unable to parse quantity's suffix"

# The quantifiers are possessive: Go's scanner never goes back, and a text that does not match fails in linear time.
_FORM = re.compile(r"([+-]?+)(0*+)([0-9]*+)(?:(\.)([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_EXPONENT = re.compile(r"[eE]([+-]?)0*([0-9]{1,19})")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {0: "", **{exponent: suffix for suffix, exponent in _BINARY.items()}}

_INT64 = 2**63 - 1
_INT64_DIGITS = 18
"""Go keeps numbers of up to 18 digits as int64, and remembers their text if it is canonical enough."""
_NANO = -9
"""The finest exponent of ten that a quantity keeps."""
_LIMIT_DIGITS = 300
_LIMIT: int = 10**_LIMIT_DIGITS
"""Larger numbers of billionths count as this one. Quotients of two quantities still fit into a float."""
_BINARY_FRACTION = 60
"""Digits of a binary quantity's fraction that can change a billionth of it."""
_CACHED_LENGTH = 64

Text = str | int | float
"""A quantity as JSON holds it."""


class QuantityError(ValueError):
    """The text is not a quantity. The message is Go's."""


class Quantity(NamedTuple):
    negative: bool
    digits: str
    """The absolute value without its exponent."""
    exponent: int
    """Of ten."""
    format: str
    text: str = ""
    """The parsed text, if Go writes it back unchanged."""

    def nanos(self) -> int:
        """The number of billionths, rounded away from zero: comparisons and sums of it are exact."""
        digits, scale = self.digits, self.exponent - _NANO
        if not digits:
            return 0
        if len(digits) + scale > _LIMIT_DIGITS:
            amount = _LIMIT
        elif scale >= 0:
            amount = int(digits + "0" * scale)
        else:
            amount = int(_round_up(digits, -scale))
        return -amount if self.negative else amount

    def canonical(self) -> str:
        if self.text:
            return self.text
        if not self.digits:
            return "0"
        if self.format == BINARY_SI and self.exponent >= _NANO:
            nanos = self.nanos()
            if abs(nanos) >= 1024 * 10**9 and nanos % 10**9 == 0:
                return _write_binary(nanos // 10**9)
        return self._write_decimal()

    def _write_decimal(self) -> str:
        digits = self.digits.rstrip("0")
        exponent = self.exponent + len(self.digits) - len(digits)
        digits += "0" * (exponent % 3)
        exponent -= exponent % 3
        if self.format == DECIMAL_EXPONENT:
            suffix = f"e{exponent}" if exponent else ""
        else:
            suffix = _DECIMAL_SUFFIX.get(exponent, "")  # Go writes no suffix beyond E either, although that changes the number
        return f"{'-' if self.negative else ''}{digits}{suffix}"


def parse(value: Text) -> Quantity:
    """ParseQuantity. Raises QuantityError."""
    text = str(value)
    return _parse_cached(text) if len(text) <= _CACHED_LENGTH else _parse(text)


def _parse(text: str) -> Quantity:
    form = _FORM.fullmatch(text) if text else None
    if form is None:
        raise QuantityError(FORMAT_WRONG)
    sign, zeros, integer, _, fraction, suffix = form.groups()
    fraction = fraction or ""
    num = integer or "0"
    negative, has_digits = sign == "-", bool(zeros or integer or fraction)
    if suffix in _BINARY:
        return _parse_binary(text, negative, num, fraction, _BINARY[suffix], has_digits)
    exponent, format = (_DECIMAL[suffix], DECIMAL_SI) if suffix in _DECIMAL else (_parse_exponent(suffix), DECIMAL_EXPONENT)
    exponent -= len(fraction)
    shifted = num + fraction
    digits = shifted.lstrip("0")
    if len(shifted) <= _INT64_DIGITS and exponent >= _NANO:
        as_it_stands = exponent % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        return Quantity(negative, digits, exponent, format, text if as_it_stands or text == "0" else "")
    if not has_digits:
        raise QuantityError(NUMERIC_WRONG)
    if digits and exponent < _NANO:
        digits, exponent = _round_up(digits, _NANO - exponent), _NANO
    return Quantity(negative, digits, exponent, format)


_parse_cached = functools.lru_cache(maxsize=8192)(_parse)


def _parse_exponent(suffix: str) -> int:
    form = _EXPONENT.fullmatch(suffix)
    if form is None or int(form[2]) > _INT64:
        raise QuantityError(SUFFIX_WRONG)
    number = -int(form[2]) if form[1] == "-" else int(form[2])
    return (number + 2**31) % 2**32 - 2**31  # Go keeps 32 bits of it


def _parse_binary(text: str, negative: bool, num: str, fraction: str, power: int, has_digits: bool) -> Quantity:
    if not fraction and len(num) + power * 3 // 10 <= 14:
        number = int(num)
        return Quantity(negative, str(number << power) if number else "", 0, BINARY_SI, text if number & 7 else "")
    if not has_digits:
        raise QuantityError(NUMERIC_WRONG)
    if len(num) > len(str(_INT64)):
        return Quantity(negative, str(_INT64), 0, BINARY_SI)
    kept = fraction[:_BINARY_FRACTION] + ("1" if fraction[_BINARY_FRACTION:].strip("0") else "")
    amount = int(num + kept) << power
    digits = _round_up(str(amount), len(kept) + _NANO) if len(kept) > -_NANO else str(amount)
    exponent = -min(len(kept), -_NANO)
    if int(digits) > _INT64 * 10**-exponent:
        digits, exponent = str(_INT64), 0
    format = DECIMAL_SI if 0 < int(digits) < 10**-exponent else BINARY_SI
    return Quantity(negative, digits.lstrip("0"), exponent, format)


def _round_up(digits: str, count: int) -> str:
    """Without the last `count` digits, rounded away from zero."""
    kept = digits[:-count] if count < len(digits) else ""
    if not digits[-count:].strip("0"):
        return kept or "0"
    head = kept.rstrip("9")
    carried = f"{head[:-1]}{int(head[-1]) + 1}" if head else "1"
    return carried + "0" * (len(kept) - len(head))


def _write_binary(number: int) -> str:
    power = 0
    while number % 1024 == 0:
        number, power = number >> 10, power + 10
    return f"{number}{_BINARY_SUFFIX.get(power, '')}"


def is_quantity(value: Text) -> bool:
    try:
        parse(value)
    except QuantityError:
        return False
    return True


def canonical(value: Text) -> str:
    """The canonical form, as the API server stores it: `0.5` becomes `500m`, `1024Mi` becomes `1Gi`."""
    return parse(value.strip(" \t\n\v\f\r") if isinstance(value, str) else value).canonical()


def nanos(value: Text) -> int:
    return parse(value).nanos()


def value(value: Text) -> int:
    """Value(): a whole number, rounded away from zero. Beyond int64 it saturates, where Go's is undefined."""
    return scaled_value(nanos(value), 10**9)


def milli_value(value: Text) -> int:
    """MilliValue(): the number of thousandths, rounded away from zero."""
    return scaled_value(nanos(value), 10**6)


def scaled_value(nanos: int, unit: int) -> int:
    amount = min(-(-abs(nanos) // unit), _INT64)
    return -amount if nanos < 0 else amount


def is_integer(value: Text) -> bool:
    """To the thousandth, as the API server requires."""
    return -(-nanos(value) // 10**6) % 1000 == 0


def format_of(value: Text) -> str:
    return parse(value).format


def from_nanos(nanos: int, format: str) -> Quantity:
    digits = str(abs(nanos)) if nanos else ""
    return Quantity(nanos < 0, digits, _NANO, format)


def round_up_to_milli(value: Text) -> str:
    """RoundUp(Milli) and canonical: resource lists hold nothing finer than a thousandth."""
    parsed = parse(value)
    if parsed.exponent >= -3 or not parsed.digits:
        return parsed.canonical()
    return parsed._replace(digits=_round_up(parsed.digits, -3 - parsed.exponent), exponent=-3, text="").canonical()


def add(values: Iterable[Text]) -> str:
    """The canonical sum, in the format of the first that is not zero."""
    parsed = [parse(value) for value in values]
    first = next((each for each in parsed if each.digits), None)
    return from_nanos(sum(each.nanos() for each in parsed), first.format if first else DECIMAL_SI).canonical()


def go_syntax(value: Text) -> str:
    """`%#v` of the Go struct, which some messages of the API server show."""
    parsed = parse(value)
    amount, scale = parsed.nanos(), _NANO
    while amount and amount % 1000 == 0 and scale < 0:
        amount //= 1000
        scale += 3
    number = f"i:resource.int64Amount{{value:{amount}, scale:{scale}}}, d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}"
    return f'resource.Quantity{{{number}, s:"{parsed.canonical()}", Format:"{parsed.format}"}}'
