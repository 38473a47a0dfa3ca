"""Whom an authenticating proxy has signed in: a header that counts only from the proxy. Pure."""

from __future__ import annotations

import dataclasses
import hmac
import ipaddress
from typing import NamedTuple

from multidict import CIMultiDict, CIMultiDictProxy

from traincrew import errors

SECRET_HEADER = "X-Traincrew-Proxy-Secret"  # noqa: S105 - the name of a header
MAX_NAME = 256
MIN_SECRET = 16

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclasses.dataclass(frozen=True)
class TrustedProxy:
    user_header: str
    """Such as `X-Forwarded-User`."""
    groups_header: str = ""
    """Groups, separated by commas. Empty: none are used."""
    allowed_groups: frozenset[str] = frozenset()
    """Other groups of the header are ignored."""
    addresses: tuple[Network, ...] = ()
    """Of the proxy. Empty: any, if the secret is right."""
    secret: str = dataclasses.field(default="", repr=False)
    """The value of the header X-Traincrew-Proxy-Secret. Empty: the address of the proxy is enough."""

    def check(self) -> None:
        """Raise SettingsError if anybody could claim to be the proxy."""
        if not self.addresses and not self.secret:
            raise errors.SettingsError(
                "--proxy-user-header alone would let everybody be anybody. Name the proxy with --proxy-address CIDR, or a secret "
                "that it sends with --proxy-secret-file FILE."
            )
        if self.secret and len(self.secret) < MIN_SECRET:
            raise errors.SettingsError(f"the secret of the proxy must have at least {MIN_SECRET} characters")
        if self.groups_header and not self.allowed_groups:
            raise errors.SettingsError(
                "--proxy-groups-header needs --proxy-group NAME for each group that the proxy may name: the right to impersonate "
                "any group would be the right to do anything."
            )
        if reserved := next((each for each in self.allowed_groups if each.startswith("system:")), ""):
            raise errors.SettingsError(f"--proxy-group {reserved}: groups of Kubernetes itself (system:) are not impersonated")


class ProxyUser(NamedTuple):
    name: str
    groups: tuple[str, ...] = ()

    @property
    def impersonation(self) -> tuple[tuple[str, str], ...]:
        return (("Impersonate-User", self.name), *(("Impersonate-Group", group) for group in self.groups))


class Untrusted(NamedTuple):
    reason: str


Headers = CIMultiDict[str] | CIMultiDictProxy[str]


def identify(proxy: TrustedProxy, headers: Headers, peer: str) -> ProxyUser | Untrusted:
    """peer: the address from which the connection comes; no header can change it."""
    if proxy.addresses and not _is_listed(peer, proxy.addresses):
        return Untrusted(f"the connection comes from {peer or 'an unknown address'}, which is not the proxy of this console")
    if proxy.secret and not _has_secret(headers, proxy.secret):
        return Untrusted("the request does not come through the proxy of this console: it lacks the secret of the proxy")
    given = headers.getall(proxy.user_header, [])
    if len(given) != 1:
        found = "none" if not given else str(len(given))
        return Untrusted(f"the proxy must send one header {proxy.user_header}, and it has sent {found}")
    name = given[0].strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        return Untrusted(f"the header {proxy.user_header} does not have the name of a user")
    if name.startswith("system:"):
        return Untrusted(f"the user {name!r} is one of Kubernetes itself, which the console does not impersonate")
    return ProxyUser(name, _groups(proxy, headers))


def _groups(proxy: TrustedProxy, headers: Headers) -> tuple[str, ...]:
    if not proxy.groups_header:
        return ()
    named = [each.strip() for value in headers.getall(proxy.groups_header, []) for each in value.split(",")]
    return tuple(sorted(proxy.allowed_groups.intersection(named)))


def _has_secret(headers: Headers, secret: str) -> bool:
    given = headers.getall(SECRET_HEADER, [])
    return len(given) == 1 and hmac.compare_digest(given[0].encode(errors="replace"), secret.encode())


def _is_listed(peer: str, networks: tuple[Network, ...]) -> bool:
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in each for each in networks)


def network(text: str) -> Network:
    """Raise SettingsError unless it is an address or a CIDR."""
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        raise errors.SettingsError(
            f"--proxy-address {text!r} is no address. Write an address or a CIDR, such as 10.0.3.7/32."
        ) from None
