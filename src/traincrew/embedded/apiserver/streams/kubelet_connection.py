"""Connections from the API server to kubelets: dial, request, response head."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import os
import socket
import ssl

from traincrew.apimachinery.api_errors import StatusError

TIMEOUT = 30.0
"""Seconds for a kubelet to accept a connection and to respond."""
_BUFFER = 128 * 1024
_MAX_BODY = 50_000


@dataclasses.dataclass(frozen=True)
class KubeletResponse:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    head: bytes


async def dial(host: str, port: int, context: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout(TIMEOUT):
            return await asyncio.open_connection(host, port, ssl=context, limit=_BUFFER)
    except (OSError, TimeoutError) as error:
        raise StatusError(500, "", f"error dialing backend: {dial_error(error, host, port)}") from error


def dial_error(error: Exception, host: str, port: int) -> str:
    """The error as Go's dialer words it."""
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"remote error: tls: {error.reason or error}"
    if isinstance(error, TimeoutError):
        return f"dial tcp {authority}: i/o timeout"
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    code = getattr(error, "errno", None) or (errno.ECONNREFUSED if isinstance(error, ConnectionRefusedError) else None)
    reason = os.strerror(code).lower() if isinstance(code, int) and code > 0 else str(error)
    return f"dial tcp {authority}: connect: {reason}"


async def read_response(reader: asyncio.StreamReader) -> KubeletResponse:
    try:
        async with asyncio.timeout(TIMEOUT):
            head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
    except (asyncio.IncompleteReadError, ConnectionError, TimeoutError) as error:
        raise StatusError(500, "", "unexpected EOF") from error
    except (asyncio.LimitOverrunError, ValueError, IndexError) as error:
        raise StatusError(500, "", "malformed HTTP response") from error
    pairs = (line.partition(":") for line in lines[1:] if line)
    return KubeletResponse(status, {name.strip().lower(): value.strip() for name, _, value in pairs}, head)


async def read_body(reader: asyncio.StreamReader, response: KubeletResponse) -> bytes:
    """The body of an error response: short, with a known length or up to the end."""
    try:
        length = int(response.headers.get("content-length", ""))
    except ValueError:
        length = _MAX_BODY
    content = b""
    async with asyncio.timeout(TIMEOUT):
        while len(content) < min(length, _MAX_BODY):
            piece = await reader.read(min(length, _MAX_BODY) - len(content))
            if not piece:
                break
            content += piece
    return content
