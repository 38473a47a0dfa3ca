"""A WebSocket that carries a command's streams (v5.channel.k8s.io, v4 where v5 is not known)."""

import binascii
import os
import select
import ssl
from collections.abc import Callable

from traincrew.embedded.node.images.builtin import api

STDIN, STDOUT, STDERR, ERROR = range(4)
CLOSE = 255
PROTOCOLS = "v5.channel.k8s.io, v4.channel.k8s.io"
PIECE = 32768
FULL = 1 << 20
"""Bytes on their way to the server before standard input waits."""

_CONTINUATION, _BINARY, _END, _PING, _PONG = 0, 2, 8, 9, 10


class Channels:
    def __init__(self, access: api.Access, path: str) -> None:
        self._stream = api.connect(access)
        key = binascii.b2a_base64(os.urandom(16), newline=False).decode()
        more = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
        self._stream.sendall(api.head(access, path, f"{more}Sec-WebSocket-Protocol: {PROTOCOLS}\r\n"))
        status, headers, rest = api.answer(self._stream)
        if status != 101:
            raise api.refusal(status, rest + self._body(headers, len(rest)))
        self._can_close = headers.get("sec-websocket-protocol", "").startswith("v5")
        self._seen, self._parts, self._going = bytearray(rest), bytearray(), bytearray()
        self._ended = False
        self._stream.setblocking(False)

    def _body(self, headers: dict[str, str], have: int) -> bytes:
        wanted = int(headers.get("content-length", "0")) - have
        pieces = b""
        while len(pieces) < wanted and (piece := self._stream.recv(PIECE)):
            pieces += piece
        return pieces

    def pump(self, stdin: int | None, take: Callable[[int, bytes], None]) -> None:
        """Until the server ends; what comes is handed to `take` with its channel."""
        while not self._ended:
            self._receive(take)
            if self._ended:
                return
            reads = [self._stream.fileno()]
            if stdin is not None and len(self._going) < FULL:
                reads.append(stdin)
            ready, _, _ = select.select(reads, [self._stream.fileno()] if self._going else [], [])
            if stdin is not None and stdin in ready:
                data = os.read(stdin, PIECE)
                self._queue(bytes([STDIN]) + data if data else bytes([CLOSE, STDIN]) if self._can_close else b"")
                stdin = stdin if data else None
            self._send()

    def _receive(self, take: Callable[[int, bytes], None]) -> None:
        while not self._ended:
            while frame := self._frame():
                self._handle(*frame, take)
            try:
                piece = self._stream.recv(1 << 18)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except (ssl.SSLError, OSError):
                piece = b""
            if not piece:
                self._ended = True
            self._seen += piece

    def _handle(self, kind: int, last: bool, data: bytes, take: Callable[[int, bytes], None]) -> None:
        if kind == _END:
            self._ended = True
        elif kind == _PING:
            self._queue(data, _PONG)
        elif kind <= _BINARY:
            self._parts += data
            if last:
                whole, self._parts = bytes(self._parts), bytearray()
                if whole:
                    take(whole[0], whole[1:])

    def _frame(self) -> tuple[int, bool, bytes] | None:
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

    def _queue(self, data: bytes, kind: int = _BINARY) -> None:
        if not data and kind == _BINARY:
            return
        size = len(data)
        if size < 126:
            head = bytes([128 | kind, 128 | size])
        elif size < 1 << 16:
            head = bytes([128 | kind, 128 | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([128 | kind, 128 | 127]) + size.to_bytes(8, "big")
        # Masking protects caches between browsers and servers; within TLS a mask of zeros is as good as any.
        self._going += head + b"\0\0\0\0" + data

    def _send(self) -> None:
        while self._going:
            try:
                sent = self._stream.send(self._going[: 1 << 18])
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                self._ended = True
                return
            del self._going[:sent]

    def close(self) -> None:
        self._stream.close()
