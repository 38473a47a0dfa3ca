"""Connections to ports of pods for the API server: an upgraded request becomes the connection."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ssl
from collections.abc import Awaitable, Callable

from aiohttp import web

from traincrew.serving import connection_copy
from traincrew.serving.upgrades import HijackedResponse, hijack, is_upgrade, response_head

PROTOCOL = "tcp"
TLS_SECONDS = 10.0
"""Seconds for the handshake with the pod."""
_PLAIN_TEXT = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL calls a response that is not TLS."""

Dial = Callable[[int], Awaitable[connection_copy.Streams]]
"""port → a connection; raises OSError."""


async def respond(request: web.Request, dial: Dial) -> web.StreamResponse:
    """A failed connection is 502, with the number of the error or the text of an error of TLS as the body."""
    if not is_upgrade(request) or request.headers.get("Upgrade", "").lower() != PROTOCOL:
        raise web.HTTPBadRequest(text="Upgrade request required")
    port = request.query.get("port", "")
    if not (port.isascii() and port.isdecimal() and len(port) < 6 and 0 < int(port) < 65536):
        raise web.HTTPBadRequest(text='query parameter "port" must be a port')
    try:
        reader, writer = await (_dial_tls(dial, int(port)) if request.query.get("scheme") == "https" else dial(int(port)))
    except ssl.SSLError as error:
        return web.Response(status=502, text=_tls_error(error))
    except OSError as error:
        return web.Response(status=502, text=str(_number(error)))
    try:
        head = response_head("101 Switching Protocols", {"Connection": "Upgrade", "Upgrade": PROTOCOL})
        with contextlib.suppress(ConnectionError):
            async with hijack(request, head) as client:
                await connection_copy.copy_both_directions(client, (reader, writer))
    finally:
        writer.close()
    return HijackedResponse()


async def _dial_tls(dial: Dial, port: int) -> connection_copy.Streams:
    """A pod has no certificate that could be verified: kube-apiserver verifies none either."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await dial(port)
    try:
        async with asyncio.timeout(TLS_SECONDS):
            await writer.start_tls(context)
    except BaseException:
        writer.close()
        raise
    return reader, writer


def _tls_error(error: ssl.SSLError) -> str:
    is_plain = error.reason in _PLAIN_TEXT
    return "tls: first record does not look like a TLS handshake" if is_plain else f"remote error: tls: {error.reason or error}"


def _number(error: OSError) -> int:
    if isinstance(error, TimeoutError):
        return errno.ETIMEDOUT
    # asyncio's own errors have no number.
    return errno.ECONNREFUSED if isinstance(error, ConnectionRefusedError) else error.errno or errno.EHOSTUNREACH
