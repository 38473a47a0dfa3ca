"""The string formats of kube-apiserver, validated as its Go libraries do."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from collections.abc import Callable

from traincrew.apimachinery import go_base64

_HEX = "[0-9a-fA-F]"


def validator(format: str) -> Callable[[str], bool] | None:
    """The validator of a format; None if kube-apiserver ignores the format."""
    return _CHECKS.get(format.replace("-", ""))


def _matches(pattern: str) -> Callable[[str], bool]:
    # Compiled on first use and cached by re: most are never used.
    return lambda text: re.fullmatch(pattern, text) is not None


def _uuid(third: str = "", fourth: str = "") -> Callable[[str], bool]:
    middle = f"{third}{_HEX}{{{4 - bool(third)}}}-?{fourth}{_HEX}{{{4 - bool(fourth)}}}"
    return _matches(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{middle}-?{_HEX}{{12}}")


def is_ipv4(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(re.fullmatch(r"0|[1-9][0-9]{0,2}", part) and int(part) < 256 for part in parts)


def is_ipv6(text: str) -> bool:
    try:
        return ":" in text and "%" not in text and bool(ipaddress.IPv6Address(text))
    except ValueError:
        return False


def is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch(r"0|[1-9][0-9]{0,2}", bits):
        return False
    return (is_ipv4(address) and int(bits) <= 32) or (is_ipv6(address) and int(bits) <= 128)


_DURATION = r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)"
_LOOSE_DURATION = r"([0-9]+)\s*([A-Za-zµ]+)"
_UNIT = r"ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*"


def is_duration(text: str) -> bool:
    if re.fullmatch(_DURATION, text):
        return True
    return any(re.fullmatch(_UNIT, unit.lower()) for _, unit in re.findall(_LOOSE_DURATION, text))


_HOST = r"([a-zA-Z0-9](-?[a-zA-Z0-9]{0,62})?|([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,63})"
"""Non-ASCII letters and symbols count as letters; they are replaced first."""


def is_hostname(text: str) -> bool:
    plain = re.sub(r"[^\x00-\x7f]|[$+<=>^`|~]", lambda match: "a" if match[0].isalpha() or match[0].isascii() else "_", text)
    return re.fullmatch(_HOST, plain) is not None and len(text) <= 255 and all(len(part) <= 63 for part in text.split("."))


_IN_ATOM = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-"
_ATOMS = rf"[{_IN_ATOM}]+(\.[{_IN_ATOM}]+)*"
_ADDRESS = rf"({_ATOMS}|\"([^\"\\]|\\.)*\")@({_ATOMS}|\[[^\[\]\\]*\])"
# One character at a time before the address: nested repetition would take exponential time.
_EMAIL = rf"([{_IN_ATOM} \t]|\"([^\"\\]|\\.)*\")*<{_ADDRESS}>|{_ADDRESS}"


def is_email(text: str) -> bool:
    return re.fullmatch(_EMAIL, text.strip(" \t")) is not None


def is_uri(text: str) -> bool:
    """A request URI: absolute, or a path."""
    if not text or re.search(r"[\x00-\x20\x7f]", text) or re.search(r"%(?![0-9a-fA-F]{2})", text):
        return False
    try:
        parsed = urllib.parse.urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or (bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", text)) and bool(parsed.scheme))


def _is_base64(text: str) -> bool:
    if not text:
        return False
    try:
        go_base64.canonical(text)
    except go_base64.Base64Error:
        return False
    return True


def _is_isbn(digits: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        bare = re.sub(r"[\s-]", "", text)
        if digits == 10 and re.fullmatch(r"[0-9]{9}[0-9X]", bare):
            return sum((10 - position) * (10 if digit == "X" else int(digit)) for position, digit in enumerate(bare)) % 11 == 0
        if digits == 13 and re.fullmatch(r"[0-9]{13}", bare):
            return sum(int(digit) * (3 if position % 2 else 1) for position, digit in enumerate(bare)) % 10 == 0
        return False

    return check


def _is_credit_card(text: str) -> bool:
    bare = re.sub(r"[^0-9]+", "", text)
    form = (
        r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}"
        r"|(2131|1800|35[0-9]{3})[0-9]{11}"
    )
    if not re.fullmatch(form, bare):
        return False
    doubled = [int(digit) * (2 if position % 2 else 1) for position, digit in enumerate(reversed(bare))]
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


_BYTE = r"(?:[01]?[0-9]?[0-9]|2[0-4][0-9]|25[0-5])"
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")


def is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    time = _TIME.fullmatch(parts[1]) if len(parts) > 1 else None
    return time is not None and is_date(parts[0]) and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"


def is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]


_CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches(rf"{_HEX}{{24}}"),
    "uri": is_uri,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "mac": _matches(rf"{_HEX}{{2}}([:-])({_HEX}{{2}}\1){{4}}{_HEX}{{2}}|({_HEX}{{4}}\.){{2}}{_HEX}{{4}}"),
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89abAB]"),
    "uuid5": _uuid("5", "[89abAB]"),
    "isbn": lambda text: _is_isbn(10)(text) or _is_isbn(13)(text),
    "isbn10": _is_isbn(10),
    "isbn13": _is_isbn(13),
    "creditcard": _is_credit_card,
    "ssn": _matches(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _matches(rf"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _matches(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)"),
    "byte": _is_base64,
    "password": lambda text: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_date_time,
}
NAMES = tuple(_CHECKS)
