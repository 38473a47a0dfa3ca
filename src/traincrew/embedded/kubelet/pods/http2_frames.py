"""Frames of HTTP/2 (RFC 9113), as far as one request with one response needs them. PURE."""

from __future__ import annotations

import struct
from typing import NamedTuple

from traincrew.embedded.kubelet.pods import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
ACK = END_STREAM = 0x1
END_HEADERS, PADDED, PRIORITY = 0x4, 0x8, 0x20
STREAM = 1
"""The first stream of a client."""
HEADER_SIZE = 9
MAX_SIZE = 1 << 14
"""Of the payload of a frame that we have not allowed to be longer."""
_HEADER_TABLE_SIZE = 0x1


class Frame(NamedTuple):
    type: int
    flags: int
    stream: int
    payload: bytes

    def encode(self) -> bytes:
        return struct.pack(">I", len(self.payload))[1:] + struct.pack(">BBI", self.type, self.flags, self.stream) + self.payload

    @property
    def content(self) -> bytes:
        """The payload of DATA and HEADERS without padding and priority. Raises ValueError."""
        start, end = 0, len(self.payload)
        if self.flags & PADDED:
            start, end = 1, end - (self.payload[0] if self.payload else 0)
        if self.type == HEADERS and self.flags & PRIORITY:
            start += 5
        if start > end:
            raise ValueError("http2: invalid padding")
        return self.payload[start:end]


def header(data: bytes) -> tuple[int, Frame]:
    """Decodes a frame header: the size of the payload, and the frame without it. Raises ValueError."""
    size = int.from_bytes(data[:3])
    if size > MAX_SIZE:
        raise ValueError("http2: frame too large")
    kind, flags, stream = struct.unpack(">BBI", data[3:])
    return size, Frame(kind, flags, stream & 0x7FFFFFFF, b"")


def settings() -> Frame:
    """Without a dynamic table for header fields, the server sends each field in full."""
    return Frame(SETTINGS, 0, 0, struct.pack(">HI", _HEADER_TABLE_SIZE, 0))


def acknowledged(frame: Frame) -> Frame:
    """The acknowledgement of SETTINGS or PING."""
    return Frame(frame.type, ACK, 0, frame.payload if frame.type == PING else b"")


def request(fields: list[tuple[str, str]], body: bytes) -> bytes:
    headers = Frame(HEADERS, END_HEADERS, STREAM, hpack.encode(fields))
    return headers.encode() + Frame(DATA, END_STREAM, STREAM, body).encode()


def check(frame: Frame) -> None:
    """Raises ValueError if the frame says that there will be no response."""
    if frame.type == RST_STREAM and frame.stream == STREAM:
        raise ValueError(f"stream terminated by RST_STREAM with error code: {int.from_bytes(frame.payload)}")
    if frame.type == GOAWAY and int.from_bytes(frame.payload[:4]) & 0x7FFFFFFF < STREAM:
        raise ValueError("the server has closed the connection")
