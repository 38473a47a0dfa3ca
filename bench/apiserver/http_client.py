"""A minimal HTTP client, so that the server is measured and not a client library."""

from __future__ import annotations

import asyncio
import os
import pathlib
import ssl
import urllib.parse
from collections.abc import AsyncGenerator
from typing import NamedTuple, Self

from traincrew.client import kubeconfig, tls

LINE = 2**26
"""Bytes: more than any list that the benchmark requests."""


class Response(NamedTuple):
    status: int
    body: bytes


class Address(NamedTuple):
    host: str
    port: int
    context: ssl.SSLContext
    headers: bytes
    """The headers of every request: Host and Authorization."""


async def address(path: pathlib.Path) -> Address:
    """The address and credentials of a kubeconfig."""
    target = kubeconfig.load(os.fspath(path))
    access = await target.identity.read()
    split = urllib.parse.urlsplit(target.server)
    headers = f"Host: {split.netloc}\r\n"
    if access.authorization:
        headers += f"Authorization: {access.authorization}\r\n"
    context = tls.context(access, insecure=False, where=target.where)
    return Address(split.hostname or "", split.port or 443, context, headers.encode())


class Connection:
    """One connection, one request at a time."""

    def __init__(self, where: Address) -> None:
        self._where = where

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(
            self._where.host, self._where.port, ssl=self._where.context, limit=LINE
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()

    async def request(
        self, method: str, path: str, body: bytes = b"", content: str = "application/json", accept: str = ""
    ) -> Response:
        self.send(method, path, body, content, accept)
        return await self.response()

    def send(self, method: str, path: str, body: bytes = b"", content: str = "application/json", accept: str = "") -> None:
        head = f"{method} {path} HTTP/1.1\r\nAccept: {accept or 'application/json'}\r\nUser-Agent: bench\r\n".encode()
        if body:
            head += f"Content-Type: {content}\r\nContent-Length: {len(body)}\r\n".encode()
        self._writer.write(head + self._where.headers + b"\r\n" + body)

    async def response(self) -> Response:
        status, length = await self.read_headers()
        if length is not None:
            return Response(status, await self._reader.readexactly(length))
        return Response(status, b"".join([part async for part in self._chunks()]))

    async def read_headers(self) -> tuple[int, int | None]:
        """The status, and the body's length unless it comes in chunks."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = None
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return int(head[9:12]), length

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)

    async def bytes(self) -> bytes:
        """The bytes received so far, with the headers of chunks in them: for callers that only count."""
        return await self._reader.read(2**18)
