"""Tunnels from the API server to a kubelet: upgraded connections, copied as bytes."""

from __future__ import annotations

import contextlib
import dataclasses
import ssl
from collections.abc import Mapping

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.streams import kubelet_connection
from traincrew.serving import connection_copy, upgrades

_FORWARDED_HEADERS = ("Upgrade", "X-Stream-Protocol-Version", "User-Agent", "Origin")
"""Headers passed on to the kubelet, besides Sec-WebSocket-*. The credentials of the client are not."""


@dataclasses.dataclass(frozen=True)
class KubeletEndpoint:
    """The endpoint of a kubelet, with credentials."""

    host: str
    port: int
    path: str
    query: str = ""
    """Encoded."""
    ssl: ssl.SSLContext | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Such as Authorization."""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def resource(self) -> str:
        return self.path + (f"?{self.query}" if self.query else "")


async def tunnel(request: web.BaseRequest, target: KubeletEndpoint) -> web.StreamResponse:
    """Exec, attach and port-forward. Raises a StatusError as long as no response has been sent."""
    if not upgrades.is_upgrade(request):
        raise api_errors.bad_request("Upgrade request required")
    reader, writer = await kubelet_connection.dial(target.host, target.port, target.ssl)
    try:
        writer.write(_request_head(request, target))
        response = await kubelet_connection.read_response(reader)
        if response.status == 101:
            with contextlib.suppress(ConnectionError):
                async with upgrades.hijack(request, response.head) as client:
                    await connection_copy.copy_both_directions(client, (reader, writer))
            return upgrades.HijackedResponse()
        if response.status < 400:
            raise StatusError(500, "", f"invalid upgrade response: status code {response.status}")
        return web.Response(
            status=response.status, body=await kubelet_connection.read_body(reader, response), headers=_content_type(response)
        )
    finally:
        writer.close()


def _content_type(response: kubelet_connection.KubeletResponse) -> dict[str, str]:
    return {"Content-Type": response.headers.get("content-type", "text/plain; charset=utf-8")}


def _request_head(request: web.BaseRequest, target: KubeletEndpoint) -> bytes:
    headers = {"Host": target.authority, "Connection": "Upgrade"}
    lines = [f"{request.method} {target.resource} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    for name, value in request.headers.items():
        if name.title() in map(str.title, _FORWARDED_HEADERS) or name.lower().startswith("sec-websocket-"):
            lines.append(f"{name}: {value}")
    lines += [f"{name}: {value}" for name, value in target.headers.items()]
    if request.method == "POST":
        lines.append("Content-Length: 0")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
