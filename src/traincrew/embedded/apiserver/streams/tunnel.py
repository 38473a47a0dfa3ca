"""Tunnels from the API server to a kubelet: upgraded connections, copied as bytes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ssl
from collections.abc import Mapping

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.streams import kubelet_connection
from traincrew.embedded.serving import upgrades
from traincrew.embedded.serving.disconnects import wait_for_disconnect

_PIECE = 256 * 1024
_FLUSH_SECONDS = 5.0
"""Seconds to deliver the data of a client that has disconnected."""
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
                    await _copy_both_directions(client, (reader, writer))
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


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _copy_both_directions(client: _Ends, kubelet: _Ends) -> None:
    """Copies until one side ends; the other side is closed after the remaining bytes are delivered."""
    works = (_copy(client[0], kubelet[1]), _copy(kubelet[0], client[1]), wait_for_disconnect(client[1].transport))
    tasks = from_client, from_kubelet, _ = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not from_kubelet.done():
            # A client may send data and disconnect at once. What it has sent is still delivered.
            await asyncio.wait({from_client}, timeout=_FLUSH_SECONDS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, OSError):
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
