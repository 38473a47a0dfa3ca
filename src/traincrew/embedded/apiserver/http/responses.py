"""Bodies of HTTP requests and responses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.endpoints import response_encoding
from traincrew.embedded.apiserver.endpoints.watches import Watch, encode_events
from traincrew.embedded.apiserver.http import warning_headers
from traincrew.embedded.apiserver.requests.request import Response

MAX_BODY_BYTES = 3 * 1024 * 1024
CLIENT_TIMEOUT = 60.0
"""Seconds that the server waits for a client to send its body or to read the response."""
MAX_UNCHUNKED_BYTES = 2**18
"""Larger lists are sent in chunks."""
UNCACHED = {"Cache-Control": "no-cache, private"}


async def read_body(http_request: web.BaseRequest) -> bytes:
    if (http_request.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()
    if http_request.content.is_eof():  # most bodies arrive with the headers
        body = http_request.content.read_nowait()
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
        return body
    parts, size = [], 0
    try:
        async with asyncio.timeout(CLIENT_TIMEOUT):
            async for part in http_request.content.iter_any():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise _too_large()
                parts.append(part)
    except TimeoutError:
        message = "Timeout: request did not complete within requested timeout - context deadline exceeded"
        raise api_errors.StatusError(504, "Timeout", message) from None
    return b"".join(parts)


def _too_large() -> api_errors.StatusError:
    return api_errors.request_entity_too_large(f"Request entity too large: limit is {MAX_BODY_BYTES}")


def full(response: Response) -> web.Response:
    headers = _headers(response.warnings) if response.warnings else UNCACHED
    body = response.body + response.tail
    return web.Response(status=response.code, body=body, content_type=response.content_type, headers=headers)


def _headers(warnings: Sequence[str]) -> CIMultiDict[str]:
    headers = CIMultiDict(UNCACHED)
    for value in warning_headers.values(warnings):
        headers.add("Warning", value)
    return headers


async def chunked(
    http_request: web.BaseRequest, pieces: response_encoding.ChunkedBody, warnings: Sequence[str]
) -> web.StreamResponse:
    """Small bodies at once, large ones in chunks."""
    chunk, size = [], 0
    for piece in pieces:
        chunk.append(piece)
        size += len(piece)
        if size > MAX_UNCHUNKED_BYTES:
            break
        await asyncio.sleep(0)
    else:
        return web.Response(body=b"".join(chunk), content_type=pieces.content_type, headers=_headers(warnings))
    http_response = await _prepared(http_request, pieces.content_type, warnings)
    await _write(http_request, http_response, b"".join(chunk))
    for piece in pieces:
        await _write(http_request, http_response, piece)
        await asyncio.sleep(0)
    await http_response.write_eof()
    return http_response


async def watch_stream(http_request: web.BaseRequest, watch: Watch, warnings: Sequence[str]) -> web.StreamResponse:
    """The events of a watch, until it ends."""
    http_response = await _prepared(http_request, "application/json", warnings)
    # When the server stops, the watch ends normally and the client resumes it.
    with contextlib.suppress(asyncio.CancelledError):
        async for batch in watch.events():
            await _write(http_request, http_response, encode_events(batch))
    await http_response.write_eof()
    return http_response


async def _prepared(http_request: web.BaseRequest, content_type: str, warnings: Sequence[str]) -> web.StreamResponse:
    http_response = web.StreamResponse(headers=_headers(warnings))
    http_response.content_type = content_type
    http_response.enable_chunked_encoding()
    await http_response.prepare(http_request)
    return http_response


async def _write(http_request: web.BaseRequest, http_response: web.StreamResponse, part: bytes) -> None:
    """Aborts the connection of a client that does not read: its unsent data occupies memory."""
    try:
        async with asyncio.timeout(CLIENT_TIMEOUT):
            await http_response.write(part)
    except TimeoutError:
        if http_request.transport is not None:
            http_request.transport.abort()
        raise ConnectionResetError("the client does not read") from None


def status_error(http_request: web.BaseRequest, error: api_errors.StatusError) -> web.Response:
    headers = http_request.headers
    wire = response_encoding.error_serializer(
        headers.get("Accept", ""), http_request.rel_url.query.get("pretty", ""), headers.get("User-Agent", "")
    )
    body = wire.encode(msgspec.json.encode(error.status())) + (response_encoding.NEWLINE if wire.plain else b"")
    http_response = web.Response(status=error.code, body=body, content_type=wire.content_type, headers=_headers(error.warnings))
    if error.retry_after:
        http_response.headers["Retry-After"] = str(error.retry_after)
    return http_response


def plain_error(error: api_errors.PlainTextError) -> web.Response:
    if not error.text:
        return web.Response(status=error.code)
    return web.Response(status=error.code, text=error.text)
