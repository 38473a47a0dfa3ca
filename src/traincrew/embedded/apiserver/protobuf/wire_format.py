"""The wire format of protobuf. Errors are worded as in Kubernetes' Go code."""

from __future__ import annotations

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)

_BITS = 2**64 - 1
_MAX_BYTES = 10


class Malformed(Exception):
    """The bytes are not a message."""


def unexpected_end() -> Malformed:
    return Malformed("unexpected EOF")


def varint(body: bytes, pos: int, end: int) -> tuple[int, int]:
    """An unsigned 64-bit number (truncated, as in Go), and its end."""
    value = shift = 0
    for index in range(pos, min(end, pos + _MAX_BYTES)):
        byte = body[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _BITS, index + 1
        shift += 7
    raise Malformed("proto: integer overflow") if end >= pos + _MAX_BYTES else unexpected_end()


def length(body: bytes, pos: int, end: int) -> tuple[int, int]:
    """The start and the end of a length-delimited value."""
    size, pos = varint(body, pos, end)
    if size >= 2**63 or pos + size >= 2**63:
        raise Malformed("proto: negative length found during unmarshaling")
    if pos + size > end:
        raise unexpected_end()
    return pos, pos + size


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def skip_field(body: bytes, tag: int, pos: int, end: int) -> int:
    """The end of a skipped field whose tag ends at `pos`. Groups may nest without a limit."""
    depth = 0
    while True:
        match tag & 7:
            case 0:
                _, pos = varint(body, pos, end)
            case 1:
                pos += 8
            case 2:
                _, pos = length(body, pos, end)
            case 3:
                depth += 1
            case 4:
                depth -= 1
            case 5:
                pos += 4
            case other:
                raise Malformed(f"proto: illegal wireType {other}")
        if pos > end:
            raise unexpected_end()
        if depth == 0:
            return pos
        tag, pos = varint(body, pos, end)
