"""The messages of failed probes, in the words of the kubelet and of Go's HTTP client."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from collections.abc import Mapping

from traincrew.apimachinery import go_format

_BROKEN = "net/http: HTTP/1.x transport connection broken: "
_PLAIN_TEXT = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE")
"""What OpenSSL calls a response that is not TLS."""


PLAIN_HTTP = "http: server gave HTTP response to HTTPS client"


def authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def dial_error(host: str, port: int, error: OSError) -> str:
    """A connection that was not made."""
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, TimeoutError):
        return f"dial tcp {authority(host, port)}: i/o timeout"
    return f"dial tcp {authority(host, port)}: connect: {_reason(error)}"


def read_error(local: tuple[str, int], remote: tuple[str, int], error: Exception) -> str:
    """A connection that broke before the response."""
    if isinstance(error, ssl.SSLError):
        is_plain = error.reason in _PLAIN_TEXT
        return PLAIN_HTTP if is_plain else f"tls: {error.reason or error}"
    if isinstance(error, OSError):
        return f"read tcp {authority(*local)}->{authority(*remote)}: read: {_reason(error)}"
    return str(error)


def _reason(error: OSError) -> str:
    # The text of asyncio names the address instead of the reason.
    code = errno.ECONNREFUSED if isinstance(error, ConnectionRefusedError) else error.errno
    return os.strerror(code).lower() if code is not None and code > 0 else str(error)


def get_error(url: str, reason: str) -> str:
    return f"Get {go_format.quote(url)}: {reason}"


def get_timeout(url: str) -> str:
    return get_error(url, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)")


def exec_timeout(command: tuple[str, ...], seconds: float) -> str:
    return f"command timed out: {go_format.quote(' '.join(command))} timed out after {seconds:g}s"


def port_number(port: int | str, named: Mapping[str, int]) -> int:
    """The number of a port of the container. Raises ValueError."""
    if port in named:
        return named[str(port)]
    if isinstance(port, str) and not re.fullmatch(r"[+-]?[0-9]+", port):
        raise ValueError(f"strconv.Atoi: parsing {go_format.quote(port)}: invalid syntax")
    if not 0 < int(port) < 65536:
        raise ValueError(f"invalid port number: {int(port)}")
    return int(port)


def status_code(line: str) -> int:
    """The status code in the first line of a response. Raises ValueError."""
    if not line:
        raise ValueError("EOF")
    version, space, rest = line.rstrip("\r\n").partition(" ")
    if not space:
        raise ValueError(f"{_BROKEN}malformed HTTP response {go_format.quote(version)}")
    code = rest.lstrip(" ").partition(" ")[0]
    if not re.fullmatch("[0-9]{3}", code):
        raise ValueError(f"{_BROKEN}malformed HTTP status code {go_format.quote(code)}")
    if not re.fullmatch(r"HTTP/[0-9]\.[0-9]", version):
        raise ValueError(f"{_BROKEN}malformed HTTP version {go_format.quote(version)}")
    return int(code)
