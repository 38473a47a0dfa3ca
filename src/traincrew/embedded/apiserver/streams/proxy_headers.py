"""Headers of proxied requests and responses, as kube-apiserver passes them on. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from multidict import CIMultiDict, CIMultiDictProxy

Headers = CIMultiDict[str] | CIMultiDictProxy[str]

_HOP_BY_HOP = frozenset((
    "connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
))  # fmt: skip
_CREDENTIALS = ("authorization",)
"""Credentials of the client for the API server. (It sets no cookies: those of the client are the pod's own.)"""
_IDENTITY = ("impersonate-", "x-remote-")
_CORS = frozenset(f"access-control-allow-{name}" for name in ("credentials", "headers", "methods", "origin"))
"""A pod may not open the API server to pages of other origins."""
_WEBSOCKET_TOKEN = "base64url.bearer.authorization.k8s.io."  # noqa: S105  a prefix
UNCACHED = "no-cache, private"


def to_pod(headers: Headers, client: str, forwarded_uri: str) -> CIMultiDict[str]:
    """Headers of the request to the pod. client: its IP address."""
    hops = _HOP_BY_HOP | _named_by_connection(headers)
    kept = CIMultiDict((name, value) for name, value in _without_credentials(headers) if name.lower() not in hops)
    if "trailers" in _listed(headers.getall("TE", ())):
        kept["TE"] = "trailers"
    _add_forwarded_for(kept, client)
    kept["X-Forwarded-Uri"] = forwarded_uri
    return kept


def to_pod_for_upgrade(headers: Headers, client: str) -> CIMultiDict[str]:
    """The headers of a request to upgrade are not changed otherwise."""
    kept = CIMultiDict(_without_credentials(headers))
    protocols = [part.strip() for value in headers.getall("Sec-WebSocket-Protocol", ()) for part in value.split(",")]
    remaining = [each for each in protocols if not each.startswith(_WEBSOCKET_TOKEN)]
    if len(remaining) < len(protocols):
        kept.pop("Sec-WebSocket-Protocol")
        if remaining:
            kept["Sec-WebSocket-Protocol"] = ",".join(remaining)
    _add_forwarded_for(kept, client)
    return kept


def to_client(headers: Headers) -> CIMultiDict[str]:
    """Headers of the response to the client."""
    dropped = _HOP_BY_HOP | _named_by_connection(headers) | _CORS
    kept = CIMultiDict({"Cache-Control": UNCACHED})
    kept.extend((name, value) for name, value in headers.items() if name.lower() not in dropped)
    return kept


def is_html(headers: Headers) -> bool:
    return headers.get("Content-Type", "").partition(";")[0].strip() == "text/html"


def _without_credentials(headers: Headers) -> Iterable[tuple[str, str]]:
    for name, value in headers.items():
        lowered = name.lower()
        if lowered not in _CREDENTIALS and not lowered.startswith(_IDENTITY):
            yield name, value


def _named_by_connection(headers: Headers) -> frozenset[str]:
    return frozenset(_listed(headers.getall("Connection", ())))


def _listed(values: Iterable[str]) -> list[str]:
    return [part.strip().lower() for value in values for part in value.split(",")]


def _add_forwarded_for(headers: CIMultiDict[str], client: str) -> None:
    before = headers.popall("X-Forwarded-For", [])
    if client:
        headers["X-Forwarded-For"] = ", ".join([*before, client])
