"""Which requests come from the console's own page: Host, Origin and Sec-Fetch-Site. Pure."""

from __future__ import annotations

from multidict import CIMultiDict, CIMultiDictProxy

from traincrew.serving.repeated_headers import repeated_header

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def objection(headers: CIMultiDict[str] | CIMultiDictProxy[str], *, is_document: bool = False) -> str:
    """Why a request is refused; empty if it comes from our page, or from a program such as curl.

    The name of the host must be one of this machine, or else a page of another site whose name resolves to 127.0.0.1 (DNS
    rebinding) could send requests. The port may be another one: a tunnel of SSH has its own. is_document: the user follows a link
    to the page, which may be anywhere, such as in a terminal in the browser.
    """
    if name := repeated_header(headers):
        return f"the request has more than one {name} header"
    host = headers.get("Host", "")
    if host_name(host) not in LOOPBACK:
        return f"the Host header names {host[:100]!r}, which is not this machine"
    origin = headers.get("Origin")
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
        return f"requests from pages of {origin[:100]!r} are not served"
    site = headers.get("Sec-Fetch-Site", "none")
    if site not in ("same-origin", "none") and not is_document:
        return f"requests from other pages (Sec-Fetch-Site: {site[:20]}) are not served"
    return ""


def host_name(host: str) -> str:
    """A Host header without its port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name, _, port = host.rpartition(":")
    return (name if name and port.isdecimal() else host).lower()
