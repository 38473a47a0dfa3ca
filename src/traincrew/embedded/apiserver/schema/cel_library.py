"""Kubernetes' CEL library: functions on lists, sets, regular expressions, quantities, URLs and IP addresses.

indexOf and lastIndexOf exist for strings only: the library rejects a second declaration for lists.
Values of types that CEL does not have are maps with one hidden key.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

from traincrew.apimachinery import quantities
from traincrew.apimachinery.structural import regular_expressions, string_formats

QUANTITY, URL, IP, CIDR = "$quantity", "$url", "$ip", "$cidr"


def _quantity(text: str) -> dict[str, Any]:
    return {QUANTITY: quantities.parse(text).canonical()}


def _nanos(value: Any) -> int:
    return quantities.nanos(value[QUANTITY] if isinstance(value, dict) else value)


def _compare(left: Any, right: Any) -> int:
    first, second = _nanos(left), _nanos(right)
    return int(first > second) - int(first < second)


def _sum(left: Any, right: Any, sign: int) -> dict[str, Any]:
    total = _nanos(left) + sign * _nanos(right)
    return {QUANTITY: quantities.from_nanos(total, quantities.format_of(left[QUANTITY])).canonical()}


def _as_integer(value: Any) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _nanos(value) // 10**9


def _is_integer(value: Any) -> bool:
    return _nanos(value) % 10**9 == 0 and abs(_nanos(value)) < 2**63 * 10**9


def _find(text: str, pattern: str) -> str:
    return regular_expressions.compile_pattern(pattern).find(text)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return regular_expressions.compile_pattern(pattern).find_all(text, limit)


def _is_sorted(values: list[Any]) -> bool:
    return all(before <= after for before, after in itertools.pairwise(values))


def _url(text: str) -> dict[str, Any]:
    if not string_formats.is_uri(text):
        raise ValueError(f"URL parse error during conversion from string: parse {text!r}: invalid URI for request")
    return {URL: text}


def _part(name: str) -> Callable[[Any], Any]:
    def part(value: Any) -> Any:
        parsed = urllib.parse.urlsplit(value[URL])
        match name:
            case "host":
                return parsed.netloc.rpartition("@")[2]
            case "hostname":
                return re.sub(r":[0-9]*$", "", parsed.netloc.rpartition("@")[2]).strip("[]")
            case "port":
                return str(parsed.port or "")
            case "query":
                return urllib.parse.parse_qs(parsed.query, keep_blank_values=True)
            case _:
                return urllib.parse.quote(parsed.path, safe="/%") if name == "path" else parsed.scheme

    return part


def _ip(text: str) -> dict[str, Any]:
    if not (string_formats.is_ipv4(text) or string_formats.is_ipv6(text)):
        raise ValueError(f"IP Address {text!r} parse error during conversion from string")
    return {IP: str(ipaddress.ip_address(text))}


def _cidr(text: str) -> dict[str, Any]:
    if not string_formats.is_cidr(text):
        raise ValueError("network address parse error during conversion from string")
    return {CIDR: text}


def _contains(network: Any, inner: Any) -> bool:
    """An address or a network, as a string or as a value."""
    text = inner if isinstance(inner, str) else inner.get(IP) or inner.get(CIDR)
    outer, other = ipaddress.ip_network(network[CIDR], strict=False), ipaddress.ip_network(text, strict=False)
    return outer.version == other.version and other.subnet_of(outer)  # type: ignore[arg-type]


Row = tuple[str, bool, Any, list[Any], Callable[..., Any]]
"""Name, whether it is a member function, result, parameters, implementation."""


def declarations(cel: Any) -> list[Any]:
    """The declarations of the functions."""
    grouped: dict[str, list[Any]] = {}
    for number, row in enumerate((*_on_quantities(cel.Type), *_on_lists_and_texts(cel.Type), *_on_addresses(cel.Type))):
        name, member, result, parameters, implementation = row
        overload = cel.Overload(f"kubernetes_{number}", result, parameters, member, implementation)
        grouped.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, overloads) for name, overloads in grouped.items()]


def _on_quantities(kinds: Any) -> list[Row]:
    text, flag, integer, special = kinds.STRING, kinds.BOOL, kinds.INT, kinds.Map(kinds.STRING, kinds.DYN)
    return [
        ("quantity", False, special, [text], _quantity),
        ("isQuantity", False, flag, [text], quantities.is_quantity),
        ("isGreaterThan", True, flag, [special, special], lambda a, b: _compare(a, b) > 0),
        ("isLessThan", True, flag, [special, special], lambda a, b: _compare(a, b) < 0),
        ("compareTo", True, integer, [special, special], _compare),
        ("add", True, special, [special, special], lambda a, b: _sum(a, b, 1)),
        ("add", True, special, [special, integer], lambda a, b: _sum(a, b, 1)),
        ("sub", True, special, [special, special], lambda a, b: _sum(a, b, -1)),
        ("sub", True, special, [special, integer], lambda a, b: _sum(a, b, -1)),
        ("sign", True, integer, [special], lambda a: _compare(a, 0)),
        ("isInteger", True, flag, [special], _is_integer),
        ("asInteger", True, integer, [special], _as_integer),
        ("asApproximateFloat", True, kinds.DOUBLE, [special], lambda a: _nanos(a) / 10**9),
    ]


def _on_lists_and_texts(kinds: Any) -> list[Row]:
    text, flag, integer, any_, several = kinds.STRING, kinds.BOOL, kinds.INT, kinds.DYN, kinds.List(kinds.DYN)
    return [
        ("find", True, text, [text, text], _find),
        ("findAll", True, kinds.List(text), [text, text], _find_all),
        ("findAll", True, kinds.List(text), [text, text, integer], _find_all),
        ("isSorted", True, flag, [several], _is_sorted),
        ("sum", True, any_, [several], sum),
        ("min", True, any_, [several], min),
        ("max", True, any_, [several], max),
        ("sets.contains", False, flag, [several, several], lambda a, b: all(each in a for each in b)),
        ("sets.intersects", False, flag, [several, several], lambda a, b: any(each in a for each in b)),
        ("sets.equivalent", False, flag, [several, several], lambda a, b: all(x in b for x in a) and all(x in a for x in b)),
    ]


def _on_addresses(kinds: Any) -> list[Row]:
    text, flag, integer, special = kinds.STRING, kinds.BOOL, kinds.INT, kinds.Map(kinds.STRING, kinds.DYN)
    return [
        ("url", False, special, [text], _url),
        ("isURL", False, flag, [text], string_formats.is_uri),
        ("getScheme", True, text, [special], _part("scheme")),
        ("getHost", True, text, [special], _part("host")),
        ("getHostname", True, text, [special], _part("hostname")),
        ("getPort", True, text, [special], _part("port")),
        ("getEscapedPath", True, text, [special], _part("path")),
        ("getQuery", True, special, [special], _part("query")),
        ("ip", False, special, [text], _ip),
        ("isIP", False, flag, [text], lambda value: string_formats.is_ipv4(value) or string_formats.is_ipv6(value)),
        ("ip.isCanonical", False, flag, [text], lambda value: _ip(value)[IP] == value),
        ("family", True, integer, [special], lambda value: ipaddress.ip_address(value[IP]).version),
        ("isLoopback", True, flag, [special], lambda value: ipaddress.ip_address(value[IP]).is_loopback),
        ("isUnspecified", True, flag, [special], lambda value: ipaddress.ip_address(value[IP]).is_unspecified),
        ("cidr", False, special, [text], _cidr),
        ("isCIDR", False, flag, [text], string_formats.is_cidr),
        ("containsIP", True, flag, [special, text], _contains),
        ("containsIP", True, flag, [special, special], _contains),
        ("containsCIDR", True, flag, [special, text], _contains),
        ("containsCIDR", True, flag, [special, special], _contains),
        ("prefixLength", True, integer, [special], lambda value: int(value[CIDR].partition("/")[2])),
    ]
