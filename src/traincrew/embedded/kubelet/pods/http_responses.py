"""Responses of HTTP/1 servers, as far as a probe reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from traincrew.embedded.kubelet.pods import probe_messages

BODY_LIMIT = 10 << 10
"""Bytes of the body that are read."""
HEAD_LIMIT = 64 << 10
"""Bytes of the status line and of the headers, with those of informational responses."""
MAX_INFORMATIONAL = 5
"""Responses such as 100 Continue that are skipped."""


class ProbeResponseHead(NamedTuple):
    code: int
    headers: Mapping[str, str]
    """By name in lower case: the first value."""


async def read_head(reader: asyncio.StreamReader) -> ProbeResponseHead:
    """Raises OSError and ValueError."""
    left = HEAD_LIMIT
    for _ in range(MAX_INFORMATIONAL + 1):
        (status, *lines), left = await _read_lines(reader, left)
        code = probe_messages.status_code(status)
        if code == 101 or not 100 <= code < 200:
            return ProbeResponseHead(code, _headers(lines))
    raise ValueError("net/http: too many 1xx informational responses")


async def _read_lines(reader: asyncio.StreamReader, limit: int) -> tuple[list[str], int]:
    """The status line and the lines of the headers, and how much of the limit is left."""
    lines = list[str]()
    while not lines or lines[-1].strip():
        try:
            line = await reader.readline()
        except ValueError:  # the line is longer than the buffer of the reader
            limit = -1
        else:
            limit -= len(line)
        if limit < 0:
            raise ValueError(f"net/http: server response headers exceeded {HEAD_LIMIT} bytes; aborted")
        lines.append(line.decode("latin-1"))
    return lines, limit


def _headers(lines: Iterable[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers.setdefault(name.strip().lower(), value.strip())
    return headers


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
