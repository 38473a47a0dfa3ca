"""Header fields of HTTP/2 (RFC 7541) without a dynamic table, which our SETTINGS exclude. PURE."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

Fields = list[tuple[str, str]]

_STATIC_STATUS = {8: "200", 9: "204", 10: "206", 11: "304", 12: "400", 13: "404", 14: "500"}
_STATIC_SIZE = 61
_INDEXED, _WITH_INDEXING, _SIZE_UPDATE = 0x80, 0x40, 0x20
_LENGTHS = (
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
)  # fmt: skip
"""The number of bits of the Huffman code of each byte (appendix B)."""
_LONGEST = max(_LENGTHS)


def encode(fields: Iterable[tuple[str, str]]) -> bytes:
    """Each field as a literal with its name, not indexed, not compressed."""
    return b"".join(b"\x00" + _literal(name) + _literal(value) for name, value in fields)


def decode(block: bytes) -> Fields:
    """Fields whose name is one of the static table have an empty name, but for `:status`. Raises ValueError."""
    fields, reader = Fields(), _Reader(block)
    while not reader.at_end:
        first = reader.peek()
        if first & _INDEXED:
            fields.append(_static(reader.integer(7)))
        elif first & _WITH_INDEXING:
            fields.append(reader.field(6))
        elif first & _SIZE_UPDATE:
            reader.integer(5)
        else:
            fields.append(reader.field(4))
    return fields


def _static(index: int) -> tuple[str, str]:
    if not 0 < index <= _STATIC_SIZE:
        raise ValueError(f"hpack: invalid index {index}")
    return (":status", _STATIC_STATUS[index]) if index in _STATIC_STATUS else ("", "")


class _Reader:
    def __init__(self, block: bytes) -> None:
        self._block, self._at = block, 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._block)

    def peek(self) -> int:
        if self.at_end:
            raise ValueError("hpack: truncated headers")
        return self._block[self._at]

    def integer(self, bits: int) -> int:
        value, limit, shift = self.peek() & ((1 << bits) - 1), (1 << bits) - 1, 0
        self._at += 1
        if value < limit:
            return value
        while shift < 28:
            byte = self.peek()
            self._at += 1
            value += (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
        raise ValueError("hpack: integer too large")

    def string(self) -> str:
        compressed, size = bool(self.peek() & 0x80), self.integer(7)
        data = self._block[self._at : self._at + size]
        if len(data) < size:
            raise ValueError("hpack: truncated headers")
        self._at += size
        return (_decompressed(data) if compressed else data).decode("latin-1")

    def field(self, bits: int) -> tuple[str, str]:
        index = self.integer(bits)
        name = _static(index)[0] if index else self.string()
        return name, self.string()


def _literal(text: str) -> bytes:
    data = text.encode()
    if len(data) < 0x7F:
        return bytes([len(data)]) + data
    rest, size = b"", len(data) - 0x7F
    while size >= 0x80:
        rest, size = rest + bytes([size & 0x7F | 0x80]), size >> 7
    return b"\x7f" + rest + bytes([size]) + data


@functools.cache
def _codes() -> Mapping[tuple[int, int], int]:
    """Bytes by length and value of their codes: the code is canonical."""
    codes, code, before = dict[tuple[int, int], int](), 0, 0
    for length, byte in sorted((length, byte) for byte, length in enumerate(_LENGTHS)):
        code <<= length - before
        codes[length, code] = byte
        code, before = code + 1, length
    return codes


def _decompressed(data: bytes) -> bytes:
    """Raises ValueError. The one sequence of _LONGEST bits that is no code is the end of the string, which must not occur."""
    codes, text, length, code = _codes(), bytearray(), 0, 0
    for byte in data:
        for position in range(7, -1, -1):
            code, length = code << 1 | byte >> position & 1, length + 1
            if (found := codes.get((length, code))) is not None:
                text.append(found)
                length = code = 0
            elif length == _LONGEST:
                raise ValueError("hpack: invalid Huffman code")
    if length > 7 or code != (1 << length) - 1:
        raise ValueError("hpack: invalid Huffman code")
    return bytes(text)
