"""A command's streams over a WebSocket (v5.channel.k8s.io, v4 where v5 is not known)."""

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
        self._seen, self._parts = bytearray(), bytearray()

    def input(self, data: bytes) -> bytes:
        if data:
            return _frame(bytes([_STDIN]) + data)
        return _frame(bytes([_CLOSE, _STDIN])) if self._can_close else b""

    def feed(self, data: bytes, take: Callable[[int, bytes], None]) -> bytes:
        self._seen += data
        answers = b""
        while not self.ended and (frame := self._next()):
            kind, last, content = frame
            if kind == _END:
                self.ended = True
            elif kind == _PING:
                answers += _frame(content, _PONG)
            elif kind <= _BINARY:
                self._parts += content
                if last:
                    whole, self._parts = bytes(self._parts), bytearray()
                    if whole:
                        take(whole[0], whole[1:])
        return answers

    def _next(self) -> tuple[int, bool, bytes] | None:
        seen = self._seen
        if len(seen) < 2:
            return None
        length, at = seen[1] & 127, 2
        if length > 125:
            width = 2 if length == 126 else 8
            if len(seen) < 2 + width:
                return None
            length, at = int.from_bytes(seen[2 : 2 + width], "big"), 2 + width
        if len(seen) < at + length:
            return None
        kind, last, data = seen[0] & 15, bool(seen[0] & 128), bytes(seen[at : at + length])
        del seen[: at + length]
        return kind, last, data


def _frame(data: bytes, kind: int = _BINARY) -> bytes:
    size = len(data)
    if size < 126:
        head = bytes([128 | kind, 128 | size])
    elif size < 1 << 16:
        head = bytes([128 | kind, 128 | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([128 | kind, 128 | 127]) + size.to_bytes(8, "big")
    # Masking protects caches between browsers and servers; within TLS a mask of zeros is as good as any.
    return head + b"\0\0\0\0" + data
