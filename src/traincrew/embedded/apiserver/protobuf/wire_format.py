"""Protobuf's wire format: numbers, lengths, and what is skipped. Faults are told in the words of Kubernetes' Go code."""

from __future__ import annotations

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)

_BITS = 2**64 - 1
_MOST_BYTES = 10


class Malformed(Exception):
    """Bytes that are no message."""


def ended() -> Malformed:
    return Malformed("unexpected EOF")


def varint(body: bytes, pos: int, end: int) -> tuple[int, int]:
    """An unsigned number of 64 bits (more are cut off, as in Go), and where it ends."""
    value = shift = 0
    for place in range(pos, min(end, pos + _MOST_BYTES)):
        byte = body[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _BITS, place + 1
        shift += 7
    raise Malformed("proto: integer overflow") if end >= pos + _MOST_BYTES else ended()


def length(body: bytes, pos: int, end: int) -> tuple[int, int]:
    """Where that which a length stands before begins and stops."""
    size, pos = varint(body, pos, end)
    if size >= 2**63 or pos + size >= 2**63:
        raise Malformed("proto: negative length found during unmarshaling")
    if pos + size > end:
        raise ended()
    return pos, pos + size


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def past(body: bytes, tag: int, pos: int, end: int) -> int:
    """Where a field of no interest ends, whose tag was before `pos`. Groups may nest as deeply as they like."""
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
            raise ended()
        if depth == 0:
            return pos
        tag, pos = varint(body, pos, end)
