"""The call of grpc.health.v1.Health/Check and the meaning of its response, in the words of the kubelet. PURE."""

from __future__ import annotations

import http
import urllib.parse
from collections.abc import Mapping

from traincrew.apimachinery import go_format
from traincrew.embedded.kubelet.pods import hpack

SERVING = 1
_HEALTH = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
UNKNOWN, PERMISSION_DENIED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, UNAUTHENTICATED = 2, 7, 12, 13, 14, 16
_CODES = (
    "OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
    "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss",
    "Unauthenticated",
)  # fmt: skip
_OF_HTTP = {
    400: INTERNAL, 401: UNAUTHENTICATED, 403: PERMISSION_DENIED, 404: UNIMPLEMENTED, 429: UNAVAILABLE, 502: UNAVAILABLE,
    503: UNAVAILABLE, 504: UNAVAILABLE,
}  # fmt: skip
_PREFIX = 5
"""Bytes before a message: whether it is compressed, and its size."""


def fields(authority: str) -> hpack.Fields:
    """The header fields of the request."""
    return [
        (":method", "POST"), (":scheme", "http"), (":path", "/grpc.health.v1.Health/Check"), (":authority", authority),
        ("content-type", "application/grpc"), ("user-agent", "kube-probe/traincrew"), ("te", "trailers"),
    ]  # fmt: skip


def body(service: str) -> bytes:
    """A HealthCheckRequest: its only field is the name of the service."""
    name = service.encode()
    size = bytes([len(name)]) if len(name) < 0x80 else bytes([len(name) & 0x7F | 0x80, len(name) >> 7])
    message = b"\x0a" + size + name if name else b""
    return b"\x00" + len(message).to_bytes(4) + message


def failure(response: Mapping[str, str], message: bytes) -> str:
    """Why the probe fails, given the fields of headers and trailers; empty: the service is healthy. Raises ValueError."""
    if "grpc-status" not in response:
        return _without_status(response.get(":status", ""))
    if (code := int(response["grpc-status"])) != 0:
        return rpc_error(code, urllib.parse.unquote(response.get("grpc-message", "")))
    if len(message) < _PREFIX:
        return rpc_error(INTERNAL, "cardinality violation: received no response message from non-server-streaming RPC")
    if message[0]:
        return rpc_error(INTERNAL, "grpc: compressed flag set with identity or empty encoding")
    status = message[_PREFIX + 1] if message[_PREFIX : _PREFIX + 1] == b"\x08" and len(message) > _PREFIX + 1 else 0
    if status == SERVING:
        return ""
    name = _HEALTH[status] if status < len(_HEALTH) else str(status)
    return f"service unhealthy (responded with {go_format.quote(name)})"


def rpc_error(code: int, message: str) -> str:
    if code == UNIMPLEMENTED:
        return f"error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {message}"
    name = _CODES[code] if 0 <= code < len(_CODES) else f"Code({code})"
    return f"error: health rpc probe failed: rpc error: code = {name} desc = {message}"


def _without_status(status: str) -> str:
    """Of a server that speaks HTTP/2, but not gRPC."""
    if status == "200" or not status.isdecimal():
        return rpc_error(INTERNAL, "server closed the stream without sending trailers")
    phrase = http.HTTPStatus(int(status)).phrase if int(status) in list(http.HTTPStatus) else ""
    message = f"unexpected HTTP status code received from server: {status} ({phrase})"
    return rpc_error(_OF_HTTP.get(int(status), UNKNOWN), message)
