"""Negotiates the stream protocol, with Kubernetes' error messages."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from traincrew.serving import upgrades

SPDY = "SPDY/3.1"
VERSION = "X-Stream-Protocol-Version"


def spdy(request: web.Request, known: Sequence[str]) -> str:
    if not upgrades.is_upgrade(request) or SPDY.lower() not in request.headers.get("Upgrade", "").lower():
        raise web.HTTPBadRequest(text="unable to upgrade: missing upgrade headers in request")
    offered = _header_values(request, VERSION)
    if not offered:
        raise web.HTTPBadRequest(text=f"unable to upgrade: {VERSION} is required")
    chosen = next((each for each in offered if each in known), None)
    if chosen is None:
        message = f"client supports [{' '.join(offered)}], server accepts [{' '.join(known)}]"
        headers = [("X-Accepted-Stream-Protocol-Versions", each) for each in known]
        raise web.HTTPForbidden(headers=headers, text=f"unable to upgrade: unable to negotiate protocol: {message}")
    return chosen


def switching(protocol: str) -> bytes:
    return upgrades.response_head("101 Switching Protocols", {"Connection": "Upgrade", "Upgrade": SPDY, VERSION: protocol})


def websocket(request: web.Request, known: Sequence[str]) -> str:
    """A client that offers no protocol gets the empty one, if it is known."""
    offered = _header_values(request, "Sec-WebSocket-Protocol") or [""]
    chosen = next((each for each in offered if each in known), None)
    if chosen is None:
        message = f"requested protocol(s) are not supported: [{' '.join(offered)}]; supports [{' '.join(known)}]"
        raise web.HTTPForbidden(text=message)
    return chosen


def _header_values(request: web.Request, header: str) -> list[str]:
    values = ",".join(request.headers.getall(header, ()))
    return [value.strip() for value in values.split(",") if value.strip()]
