"""Exec over a WebSocket (v5.channel.k8s.io, or v4 if the server does not support v5)."""

import binascii
import os
from collections.abc import Callable

from traincrew.embedded.kubelet.images.programs import api

PROTOCOLS = "v5.channel.k8s.io, v4.channel.k8s.io"
_STDIN, _CLOSE = 0, 255
_BINARY, _END, _PING, _PONG = 2, 8, 9, 10


def request(access: api.ApiAccess, path: str) -> bytes:
    key = binascii.b2a_base64(os.urandom(16), newline=False).decode()
    more = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    return api.request_head(access, path, f"{more}Sec-WebSocket-Protocol: {PROTOCOLS}\r\n")


class WebSocket:
    def __init__(self, headers: dict[str, str]) -> None:
        self.ended = False
        self._can_close = headers.get("sec-websocket-protocol", "").startswith("v5")
        self._received, self._parts = bytearray(), bytearray()

    def input(self, data: bytes) -> bytes:
        if data:
            return _frame(bytes([_STDIN]) + data)
        return _frame(bytes([_CLOSE, _STDIN])) if self._can_close else b""

    def feed(self, data: bytes, take: Callable[[int, bytes], None]) -> bytes:
        self._received += data
        replies = b""
        while not self.ended and (frame := self._next()):
            kind, last, content = frame
            if kind == _END:
                self.ended = True
            elif kind == _PING:
                replies += _frame(content, _PONG)
            elif kind <= _BINARY:
                self._parts += content
                if last:
                    message, self._parts = bytes(self._parts), bytearray()
                    if message:
                        take(message[0], message[1:])
        return replies

    def _next(self) -> tuple[int, bool, bytes] | None:
        received = self._received
        if len(received) < 2:
            return None
        length, at = received[1] & 127, 2
        if length > 125:
            width = 2 if length == 126 else 8
            if len(received) < 2 + width:
                return None
            length, at = int.from_bytes(received[2 : 2 + width], "big"), 2 + width
        if len(received) < at + length:
            return None
        kind, last, data = received[0] & 15, bool(received[0] & 128), bytes(received[at : at + length])
        del received[: at + length]
        return kind, last, data


def _frame(data: bytes, kind: int = _BINARY) -> bytes:
    size = len(data)
    if size < 126:
        head = bytes([128 | kind, 128 | size])
    elif size < 1 << 16:
        head = bytes([128 | kind, 128 | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([128 | kind, 128 | 127]) + size.to_bytes(8, "big")
    # Masking protects proxy caches. Within TLS a mask of zeros suffices.
    return head + b"\0\0\0\0" + data
