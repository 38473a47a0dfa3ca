"""Responses of HTTP/1 servers, as far as a probe reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from traincrew.embedded.kubelet.pods import probe_messages

BODY_LIMIT = 10 << 10
"""Bytes of the body that are read."""
MAX_HEADERS = 1000
MAX_INFORMATIONAL = 5
"""Responses such as 100 Continue that are skipped."""


class ProbeResponseHead(NamedTuple):
    code: int
    headers: Mapping[str, str]
    """By name in lower case: the first value."""


async def read_head(reader: asyncio.StreamReader) -> ProbeResponseHead:
    """Raises OSError and ValueError."""
    for _ in range(MAX_INFORMATIONAL + 1):
        code = probe_messages.status_code((await reader.readline()).decode("latin-1"))
        headers: dict[str, str] = {}
        for _ in range(MAX_HEADERS):
            line = (await reader.readline()).decode("latin-1")
            if not line.strip():
                break
            name, _, value = line.partition(":")
            headers.setdefault(name.strip().lower(), value.strip())
        if code == 101 or not 100 <= code < 200:
            return ProbeResponseHead(code, headers)
    raise ValueError("net/http: too many 1xx informational responses")


async def read_body(reader: asyncio.StreamReader, head: ProbeResponseHead) -> str:
    """The beginning of the body. Raises OSError, ValueError and EOFError (of a body that is cut)."""
    if head.code in (101, 204, 304):
        return ""
    if head.headers.get("transfer-encoding", "").lower() == "chunked":
        return _text(await _read_chunks(reader))
    length = head.headers.get("content-length", "")
    if length.isascii() and length.isdecimal():
        return _text(await reader.readexactly(min(int(length), BODY_LIMIT)))
    body = b""
    while len(body) < BODY_LIMIT and (piece := await reader.read(BODY_LIMIT - len(body))):
        body += piece
    return _text(body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while len(body) < BODY_LIMIT:
        size = int((await reader.readline()).partition(b";")[0].strip(), 16)
        if not size:
            break
        body += await reader.readexactly(min(size, BODY_LIMIT - len(body)))
        await reader.readline()
    return body


def _text(body: bytes) -> str:
    return body.decode(errors="replace")
