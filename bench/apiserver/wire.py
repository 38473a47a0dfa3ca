"""A client that does as little as possible: what is measured is the server, not how a client library reads headers."""

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
"""Bytes: more than any list that is asked for here."""


class Answer(NamedTuple):
    status: int
    body: bytes


class Address(NamedTuple):
    host: str
    port: int
    context: ssl.SSLContext
    headers: bytes
    """Those of every request: Host and whoever asks."""


async def address(path: pathlib.Path) -> Address:
    """Where a kubeconfig leads."""
    target = kubeconfig.load(os.fspath(path))
    access = await target.identity.read()
    split = urllib.parse.urlsplit(target.server)
    headers = f"Host: {split.netloc}\r\n"
    if access.authorization:
        headers += f"Authorization: {access.authorization}\r\n"
    context = tls.context(access, insecure=False, where=target.where)
    return Address(split.hostname or "", split.port or 443, context, headers.encode())


class Wire:
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

    async def ask(self, method: str, path: str, body: bytes = b"", content: str = "application/json", accept: str = "") -> Answer:
        self.send(method, path, body, content, accept)
        return await self.answer()

    def send(self, method: str, path: str, body: bytes = b"", content: str = "application/json", accept: str = "") -> None:
        head = f"{method} {path} HTTP/1.1\r\nAccept: {accept or 'application/json'}\r\nUser-Agent: bench\r\n".encode()
        if body:
            head += f"Content-Type: {content}\r\nContent-Length: {len(body)}\r\n".encode()
        self._writer.write(head + self._where.headers + b"\r\n" + body)

    async def answer(self) -> Answer:
        status, length = await self.begin()
        if length is not None:
            return Answer(status, await self._reader.readexactly(length))
        return Answer(status, b"".join([part async for part in self._chunks()]))

    async def begin(self) -> tuple[int, int | None]:
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
        """Whatever has come, with the marks of chunks in it: for those who only count."""
        return await self._reader.read(2**18)
