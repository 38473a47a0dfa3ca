"""The HTTP proxy for a server, from the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).

The rules are those of Go, because users set NO_PROXY for kubectl: CIDRs (10.0.0.0/8) are supported, and loopback is
never proxied. `urllib.request` supports neither.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

import yarl

from traincrew import errors


def from_environment(server: yarl.URL, env: Mapping[str, str]) -> str:
    """The URL of the proxy. Empty: no proxy."""
    proxy = _variable(env, f"{server.scheme}_proxy")
    if not proxy or _bypassed(server, _variable(env, "no_proxy")):
        return ""
    return checked(proxy if "://" in proxy else f"http://{proxy}", f"{server.scheme.upper()}_PROXY")


def checked(proxy: str, where: str) -> str:
    try:
        url = yarl.URL(proxy)
    except ValueError:
        url = yarl.URL()
    if url.scheme not in ("http", "https") or not url.host:
        # The value is not quoted: a proxy URL may contain a password.
        raise errors.KubeconfigError(f"{where}: invalid proxy URL; use http://host:port or https://host:port")
    return proxy


def _variable(env: Mapping[str, str], name: str) -> str:
    return env.get(name.upper()) or env.get(name) or ""


def _bypassed(server: yarl.URL, no_proxy: str) -> bool:
    host = (server.host or "").rstrip(".").lower()
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, server.port, address) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, port: int | None, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    if address is not None and "/" in entry:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, entry_port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if entry_port and entry_port != str(port):
        return False
    if address is not None:
        return _address(name.strip("[]")) == address
    suffix = name.removeprefix("*")
    return host == suffix or host.endswith(suffix if suffix.startswith(".") else f".{suffix}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
