"""Which requests come from the console's own page: Host, Origin and Sec-Fetch-Site. Pure."""

from __future__ import annotations

import urllib.parse

from multidict import CIMultiDict, CIMultiDictProxy

from traincrew import errors
from traincrew.serving.repeated_headers import repeated_header

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def objection(headers: CIMultiDict[str] | CIMultiDictProxy[str], *, public_url: str = "", is_document: bool = False) -> str:
    """Why a request is refused; empty if it comes from our page, or from a program such as curl.

    The Host must be that of the public address or one of this machine (also through a tunnel of SSH or kubectl, which has a port
    of its own), or else a page of another site whose name resolves to the console (DNS rebinding) could send requests.
    is_document: the user follows a link to the page, which may be anywhere, such as in a terminal in the browser.
    """
    if name := repeated_header(headers):
        return f"the request has more than one {name} header"
    host = headers.get("Host", "")
    is_public = at_public_address(host, public_url)
    if not is_public and host_name(host) not in LOOPBACK:
        return f"the Host header names {host[:100]!r}, which is not {f'{public_url} or ' if public_url else ''}this machine"
    origin = headers.get("Origin")
    expected = {public_url.lower()} if is_public else {f"http://{host}".lower(), f"https://{host}".lower()}
    if origin is not None and origin.lower() not in expected:
        return f"requests from pages of {origin[:100]!r} are not served"
    site = headers.get("Sec-Fetch-Site", "none")
    if site not in ("same-origin", "none") and not is_document:
        return f"requests from other pages (Sec-Fetch-Site: {site[:20]}) are not served"
    return ""


def at_public_address(host: str, public_url: str) -> bool:
    """Whether a Host header is that of the public address. Browsers leave out the port 443; some proxies add it."""
    if not public_url:
        return False
    scheme, _, address = public_url.lower().partition("://")
    port = ":443" if scheme == "https" else ":80"
    return host.lower().removesuffix(port) == address.removesuffix(port)


def public_origin(url: str) -> str:
    """The origin of a public address, as browsers write it. Raise SettingsError if it is none, or if tokens would be readable."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise errors.SettingsError(f"--public-url {url!r} is no address. Write it as in the browser: https://console.example.com")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise errors.SettingsError(f"--public-url {url!r} has a path, and the console is served at the root of a host alone")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise errors.SettingsError(
            f"--public-url {url!r} is not encrypted: everybody on the way could read the tokens of users. Use https://."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port if parts.port not in (None, 443 if parts.scheme == "https" else 80) else None
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}"


def host_name(host: str) -> str:
    """A Host header without its port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name, _, port = host.rpartition(":")
    return (name if name and port.isdecimal() else host).lower()
