"""Encodes and decodes the frames of SPDY/3.1."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from traincrew.embedded.kubelet.server.spdy_headers import BadHeaders, Deflater, Inflater

PROTOCOL_ERROR, INVALID_STREAM, REFUSED_STREAM, CANCEL, FLOW_CONTROL_ERROR = 1, 2, 3, 5, 7
"""Status codes of RST_STREAM and GOAWAY."""
INITIAL_WINDOW = 7
"""The id of the setting."""

_CONTROL = 0x8003_0000
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
_FIN = 1
_MAX_CONTROL = 64 * 1024
_HEAD = struct.Struct(">II")
_STREAM = 0x7FFF_FFFF
_LENGTH = 0x00FF_FFFF


class BadFrame(Exception):
    """The data is not SPDY/3.1. The rest of the connection cannot be decoded."""


class DataFrame(NamedTuple):
    """A part of a data frame: the parts are passed on as they arrive."""

    stream: int
    data: bytes
    fin: bool


class SynStream(NamedTuple):
    stream: int
    headers: dict[str, str]
    fin: bool


class SynReply(NamedTuple):
    """The reply to SYN_STREAM, or a HEADERS frame."""

    stream: int
    headers: dict[str, str]
    fin: bool


class RstStream(NamedTuple):
    stream: int
    status: int


class Settings(NamedTuple):
    values: dict[int, int]


class Ping(NamedTuple):
    id: int


class GoAway(NamedTuple):
    last: int
    status: int


class WindowUpdate(NamedTuple):
    """Stream 0 is the whole connection."""

    stream: int
    delta: int


Frame = DataFrame | SynStream | SynReply | RstStream | Settings | Ping | GoAway | WindowUpdate


class Decoder:
    def __init__(self) -> None:
        self._inflater = Inflater()
        self._pending = b""
        self._stream = 0
        self._left = 0
        self._fin = False

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Consume all frames before the next call."""
        if self._pending:
            data, self._pending = self._pending + data, b""
        at, end = 0, len(data)
        while at < end:
            if self._left:
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                yield DataFrame(self._stream, piece, self._fin and not self._left)
                continue
            size = self._frame_size(data, at)
            if size is None:
                break
            word, length = _HEAD.unpack_from(data, at)
            if word & 0x8000_0000:
                frame = self._control(word, length >> 24, data[at + 8 : at + size])
                if frame is not None:
                    yield frame
            else:
                self._stream, self._left, self._fin = word, length & _LENGTH, bool(length >> 24 & _FIN)
                if not self._left:
                    yield DataFrame(word, b"", self._fin)
            at += size
        self._pending = data[at:]

    def _frame_size(self, data: bytes, at: int) -> int | None:
        """The size of a control frame, or of the head of a data frame; None: it is incomplete."""
        available = len(data) - at
        if available < 8:
            return None
        word, length = _HEAD.unpack_from(data, at)
        if not word & 0x8000_0000:
            return 8
        size = length & _LENGTH
        if word & 0xFFFF_0000 != _CONTROL or size > _MAX_CONTROL:
            raise BadFrame("not a SPDY/3.1 frame")
        return size + 8 if available >= size + 8 else None

    def _control(self, word: int, flags: int, body: bytes) -> Frame | None:
        try:
            return self._parse(word & 0xFFFF, bool(flags & _FIN), body)
        except (struct.error, BadHeaders) as error:
            raise BadFrame(str(error)) from error

    def _parse(self, kind: int, fin: bool, body: bytes) -> Frame | None:
        if kind == _SETTINGS:
            return Settings(_settings(body))
        if kind not in (_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE):
            return None  # the specification requires to ignore unknown types
        (first,) = struct.unpack_from(">I", body)
        if kind == _PING:
            return Ping(first)
        if kind == _SYN_STREAM:
            return SynStream(first & _STREAM, self._inflater.unpack(body[10:]), fin)
        if kind in (_SYN_REPLY, _HEADERS):
            return SynReply(first & _STREAM, self._inflater.unpack(body[4:]), fin)
        (second,) = struct.unpack_from(">I", body, 4)
        if kind == _RST_STREAM:
            return RstStream(first & _STREAM, second)
        return GoAway(first & _STREAM, second) if kind == _GOAWAY else WindowUpdate(first & _STREAM, second & _STREAM)


def _settings(body: bytes) -> dict[int, int]:
    (count,) = struct.unpack_from(">I", body)
    if len(body) < 4 + count * 8:
        raise BadFrame("truncated SETTINGS frame")
    pairs = (struct.unpack_from(">II", body, 4 + index * 8) for index in range(count))
    return {id & _LENGTH: value for id, value in pairs}


class Encoder:
    """Frames with headers must be sent in the order of their encoding, because they share a compression state."""

    def __init__(self) -> None:
        self._deflater = Deflater()

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        return _frame(_SYN_STREAM, 0, struct.pack(">IIH", stream, 0, 0) + self._deflater.pack(headers))

    def reply(self, stream: int, headers: Mapping[str, str]) -> bytes:
        return _frame(_SYN_REPLY, 0, struct.pack(">I", stream) + self._deflater.pack(headers))


def data(stream: int, content: bytes | memoryview, fin: bool = False) -> bytes:
    return b"".join((_HEAD.pack(stream, (_FIN << 24 if fin else 0) | len(content)), content))


def rst_stream(stream: int, status: int) -> bytes:
    return _frame(_RST_STREAM, 0, _HEAD.pack(stream, status))


def ping(id: int) -> bytes:
    return _frame(_PING, 0, struct.pack(">I", id))


def go_away(last: int, status: int = 0) -> bytes:
    return _frame(_GOAWAY, 0, _HEAD.pack(last, status))


def window_update(stream: int, delta: int) -> bytes:
    return _frame(_WINDOW_UPDATE, 0, _HEAD.pack(stream, delta))


def settings(values: Mapping[int, int]) -> bytes:
    pairs = b"".join(_HEAD.pack(id, value) for id, value in values.items())
    return _frame(_SETTINGS, 0, struct.pack(">I", len(values)) + pairs)


def _frame(kind: int, flags: int, body: bytes) -> bytes:
    return _HEAD.pack(_CONTROL | kind, flags << 24 | len(body)) + body
