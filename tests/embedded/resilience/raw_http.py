"""HTTP written by hand, so that requests may be malformed."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Protocol

from tests.embedded.resilience.request_generator import RawRequest


class Endpoint(Protocol):
    @property
    def address(self) -> tuple[str, int]: ...

    @property
    def token(self) -> str: ...

    async def connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]: ...


class RawResponse(NamedTuple):
    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")


class ConnectionClosed(Exception):
    """The server closed the connection without a response."""


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cluster: Endpoint) -> None:
        self._reader, self.writer, self._cluster = reader, writer, cluster

    @classmethod
    async def to(cls, cluster: Endpoint) -> Connection:
        return cls(*await cluster.connection(), cluster)

    def send(self, request: RawRequest) -> None:
        self.writer.write(self.encoded(request))

    def encoded(self, request: RawRequest, *lines: str) -> bytes:
        host, port = self._cluster.address
        sent = {"Host": f"{host}:{port}", "Authorization": f"Bearer {self._cluster.token}", **request.headers}
        if request.body:
            sent["Content-Length"] = str(len(request.body))
        head = [
            f"{request.method} {request.target} HTTP/1.1",
            *(f"{key}: {value}" for key, value in sent.items()),
            *lines,
            "",
            "",
        ]
        return "\r\n".join(head).encode("utf-8", "surrogatepass") + request.body

    async def response(self, method: str = "GET") -> RawResponse:
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ConnectionClosed from error
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        code = int(first.split(" ")[1])
        empty = method == "HEAD" or code in (204, 304)
        return RawResponse(code, headers, b"" if empty else await self._body(headers))

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            return await self._chunks()
        if "content-length" in headers:
            return await self._reader.readexactly(int(headers["content-length"]))
        return await self._reader.read()

    async def _chunks(self) -> bytes:
        parts = []
        while size := int((await self._reader.readline()).split(b";")[0], 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readline()
        await self._reader.readline()
        return b"".join(parts)

    async def close(self) -> None:
        self.writer.transport.abort()
