"""IP addresses and ranges within objects."""

from __future__ import annotations

import ipaddress
import re

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.string_cache import cached

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


@cached(1024)
def parse(text: str) -> Address | None:
    """Zeros before the numbers of an IPv4 address are allowed, as they always were in Kubernetes."""
    try:
        return ipaddress.ip_address(_LEADING_ZEROS.sub("", text) if ":" not in text else text)
    except ValueError:
        return None


def check(text: str, path: str, errors: list[FieldError]) -> bool:
    if parse(text) is not None:
        return True
    errors.append(field_errors.invalid(path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"))
    return False


def check_family(text: str, version: int, path: str, errors: list[FieldError]) -> None:
    address = parse(text)
    if address is None or address.version != version:
        errors.append(field_errors.invalid(path, text, f"must be a valid IPv{version} address"))


def check_range(text: str, path: str, errors: list[FieldError]) -> None:
    try:
        if "/" not in text:
            raise ValueError(text)
        ipaddress.ip_network(_LEADING_ZEROS.sub("", text) if ":" not in text else text, strict=False)
    except ValueError:
        errors.append(field_errors.invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"))


def check_not_special(text: str, path: str, errors: list[FieldError]) -> None:
    address = parse(text)
    if address is None:
        errors.append(field_errors.invalid(path, text, "must be a valid IP address"))
        return
    if address.is_unspecified:
        errors.append(field_errors.invalid(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        errors.append(field_errors.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        errors.append(field_errors.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address in _MULTICAST[address.version]:
        errors.append(field_errors.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))


_MULTICAST: dict[int, ipaddress.IPv4Network | ipaddress.IPv6Network] = {
    4: ipaddress.IPv4Network("224.0.0.0/24"),
    6: ipaddress.IPv6Network("ff02::/16"),
}


def is_dual_stack(texts: list[str]) -> bool:
    return {address.version for address in map(parse, texts) if address is not None} == {4, 6}
