"""URLs of proxied requests: the path at the pod, and links of the pod's responses that lead back through the proxy. Pure."""

from __future__ import annotations

import urllib.parse
from typing import NamedTuple

_PATH_CHARACTERS = "-_.~$&+,/:;=@"
"""Not escaped in a path by Go."""
_PARTS = 8
"""Of /api/v1/namespaces/NAMESPACE/RESOURCE/NAME/proxy, with the empty one before the first slash."""


class ProxyPath(NamedTuple):
    """Both are escaped."""

    prefix: str
    """The path of the proxy subresource. A link to / of the pod leads there."""
    path: str
    """The path at the pod; empty if the path of the request ends with `proxy`."""

    @property
    def forwarded_uri(self) -> str:
        return self.prefix + (self.path or "/")


def of_request(raw_path: str) -> ProxyPath:
    """As Go, from the decoded path: an escaped slash is a slash, `.` and `..` are resolved below the root of the pod."""
    decoded = urllib.parse.unquote_to_bytes(raw_path).decode("utf-8", "surrogateescape")
    parts = decoded.split("/")
    prefix, rest = escape("/".join(parts[:_PARTS])), "/".join(parts[_PARTS:])
    if len(parts) == _PARTS:
        return ProxyPath(prefix, "")
    path = clean("/" + rest)
    return ProxyPath(prefix, escape(path + "/" if rest.endswith("/") and path != "/" else path))


def escape(path: str) -> str:
    return urllib.parse.quote(path, safe=_PATH_CHARACTERS, errors="surrogateescape")


def clean(path: str) -> str:
    """As Go's path.Clean of an absolute path."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part not in ("", "."):
            kept.append(part)
    return "/" + "/".join(kept)


class LinkRewriter(NamedTuple):
    """Rewrites links of a pod's page to itself, so that they lead through the proxy."""

    prefix: str
    hosts: tuple[str, str]
    """The pod's address with its port, and the Host header of the request."""

    def rewrite(self, link: str) -> str:
        """Raises ValueError for a link that is not a URL."""
        url = urllib.parse.urlsplit(link)
        if (url.netloc and url.netloc not in self.hosts) or not url.path.startswith("/"):
            return link
        if not (url.netloc and url.netloc == self.hosts[1]):
            url = url._replace(scheme="", netloc="")
        if url.path.startswith(self.prefix):
            return urllib.parse.urlunsplit(url)
        path = clean(f"{self.prefix}/{url.path}")
        if url.path.endswith("/") and not path.endswith("/"):
            path += "/"
        return urllib.parse.urlunsplit(url._replace(path=path))
