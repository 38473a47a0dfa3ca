"""Host and Origin of requests: no page in a browser may reach the API server by another host name (DNS rebinding)."""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Iterable

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.string_cache import cached


@dataclasses.dataclass(frozen=True)
class AllowedOrigins:
    """The host names of the server, and the origins of its own pages."""

    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()


def allowed_origins(names: Iterable[str], port: int) -> AllowedOrigins:
    """Names as the serving certificate holds them.

    Old WebSocket libraries send our own address as an http origin. No page can come from there, because the port serves TLS.
    """
    hosts = frozenset(_plain(name) for name in names)
    origins = frozenset(f"{scheme}://{_bracketed(host)}:{port}" for host in hosts for scheme in ("https", "http"))
    return AllowedOrigins(hosts, origins | {origin.removesuffix(":443") for origin in origins})


def check(of: AllowedOrigins, host: str | None, origin: str | None, *, is_proxied: bool = False) -> None:
    """Raises a StatusError (403) for a foreign Host or Origin. A request without a Host (HTTP/1.0) comes from no browser.

    is_proxied: the request goes to a server in a pod. The page of a pod that a user opens through `kubectl proxy` has the origin
    of that, at another port of this machine, and may send requests to its own pod.
    """
    if host and host_name(host) not in of.hosts:
        raise api_errors.StatusError(
            403, "Forbidden", f"forbidden: the Host header names {_shown(host)}, which this server is not"
        )
    if origin is None or origin.lower() in of.origins or (is_proxied and _is_loopback(origin)):
        return
    raise api_errors.StatusError(403, "Forbidden", f"forbidden: requests from pages of {_shown(origin)} are not served")


def _is_loopback(origin: str) -> bool:
    scheme, _, authority = origin.lower().partition("://")
    return scheme in ("http", "https") and host_name(authority) in ("localhost", "127.0.0.1", "::1")


@cached(64)
def host_name(host: str) -> str:
    """A Host header without its port, addresses in one spelling."""
    if host.startswith("["):
        return _plain(host[1:].partition("]")[0])
    name, _, port = host.rpartition(":")
    return _plain(name if name and port.isdigit() else host)


def _plain(name: str) -> str:
    lowered = name.strip("[]").lower().removesuffix(".")
    if ":" not in lowered:
        return lowered
    try:
        return str(ipaddress.ip_address(lowered))
    except ValueError:
        return lowered


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _shown(value: str) -> str:
    """Untrusted text, escaped and shortened."""
    return ascii(value[:100])
