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


def check(of: AllowedOrigins, host: str | None, origin: str | None) -> None:
    """Raises a StatusError (403) for a foreign Host or Origin. A request without a Host (HTTP/1.0) comes from no browser."""
    if host and host_name(host) not in of.hosts:
        raise api_errors.StatusError(
            403, "Forbidden", f"forbidden: the Host header names {_shown(host)}, which this server is not"
        )
    if origin is not None and origin.lower() not in of.origins:
        raise api_errors.StatusError(403, "Forbidden", f"forbidden: requests from pages of {_shown(origin)} are not served")


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
