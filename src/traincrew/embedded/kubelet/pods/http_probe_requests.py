"""The requests of HTTP probes: Go's client as the kubelet uses it."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from traincrew.apimachinery import go_format
from traincrew.embedded.kubelet.pods import probe_messages

Headers = tuple[tuple[str, str], ...]
_NOT_IN_URLS = re.compile("[^!-~]|%(?![0-9A-Fa-f]{2})")
"""Spaces, control characters, other alphabets, and a percent sign that escapes nothing."""
_REDIRECTS = (301, 302, 303, 307, 308)


class ProbeRequest(NamedTuple):
    url: str
    headers: Headers
    """Without Host. A name may occur more than once."""
    host: str
    """The Host header. Empty: the authority of the URL."""

    @property
    def scheme(self) -> str:
        return urllib.parse.urlsplit(self.url).scheme

    @property
    def hostname(self) -> str:
        return urllib.parse.urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Raises ValueError if the URL has an invalid one."""
        return urllib.parse.urlsplit(self.url).port or (443 if self.scheme == "https" else 80)

    def encode(self) -> bytes:
        parts = urllib.parse.urlsplit(self.url)
        target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        headers = (("Host", self.host or parts.netloc), *self.headers)
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
        return "\r\n".join(lines).encode()


def request(action: Mapping[str, Any], host: str, port: int, user_agent: str) -> ProbeRequest:
    """Raises ValueError if a header cannot be sent."""
    scheme = str(action.get("scheme") or "HTTP").lower()
    path = _NOT_IN_URLS.sub(_escaped, action.get("path") or "/")
    url = f"{scheme}://{probe_messages.authority(host, port)}{'' if path.startswith('/') else '/'}{path}"
    given = [(_canonical(each["name"]), each.get("value", "")) for each in action.get("httpHeaders") or ()]
    for name, value in given:
        if any((ord(each) < 32 and each != "\t") or ord(each) == 127 for each in value):
            raise ValueError(f"net/http: invalid header field value for {go_format.quote(name)}")
    return ProbeRequest(url, tuple(_sent(given, user_agent)), _first(given, "Host") or "")


def redirected(before: ProbeRequest, code: int, location: str) -> ProbeRequest | None:
    """The request that follows a response. None: the response is no redirect."""
    if code not in _REDIRECTS or not location:
        return None
    url = urllib.parse.urljoin(before.url, _NOT_IN_URLS.sub(_escaped, location))
    is_relative = not urllib.parse.urlsplit(location).scheme
    return ProbeRequest(url, before.headers, before.host if is_relative else "")


def without_tls(request: ProbeRequest) -> ProbeRequest:
    """Without the credentials, which must not be sent in plain text."""
    headers = tuple(each for each in request.headers if each[0] != "Authorization")
    return ProbeRequest(request.url.replace("https:", "http:", 1), headers, request.host)


def _sent(given: Headers | list[tuple[str, str]], user_agent: str) -> Iterable[tuple[str, str]]:
    """A default is omitted if the probe has an empty value for it."""
    for name, default in (("User-Agent", user_agent), ("Accept", "*/*")):
        value = _first(given, name)
        if value is None or (value and name == "User-Agent"):
            yield name, default if value is None else value
    accept = _first(given, "Accept")
    yield from (each for each in given if each[0] not in ("Host", "User-Agent", "Accept"))
    yield from (each for each in given if each[0] == "Accept" and accept)
    if _first(given, "Connection") != "close":
        yield "Connection", "close"


def _first(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    return next((value for each, value in headers if each == name), None)


def _canonical(name: str) -> str:
    """As Go writes names of headers: `x-a` becomes `X-A`."""
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def _escaped(match: re.Match[str]) -> str:
    return urllib.parse.quote(match[0], safe="")
