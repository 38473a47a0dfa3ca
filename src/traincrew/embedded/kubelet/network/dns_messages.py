"""Encodes and decodes DNS messages. PURE"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence

A, NS, CNAME, SOA, PTR, TXT, AAAA, SRV, OPT, ANY = 1, 2, 5, 6, 12, 16, 28, 33, 41, 255
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 2, 3, 4, 5
BADVERS = 16
IN = 1
_PLAIN = 512
_MAX_UDP_PAYLOAD = 1232
"""Larger UDP replies could be fragmented."""
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _DESIRED, _AVAILABLE = 0x8000, 0x400, 0x200, 0x100, 0x80


class MalformedMessage(ValueError):
    pass


@dataclasses.dataclass(frozen=True)
class DnsQuery:
    number: int
    flags: int
    name: str
    """In lower case, without the last dot; what looks like a dot but is part of a label has a backslash before it."""
    kind: int
    klass: int
    question: bytes
    """The question section, to be repeated in the reply."""
    edns: int | None = None
    """UDP payload size of the client."""
    edns_version: int = 0

    @property
    def opcode(self) -> int:
        return self.flags >> 11 & 15

    @property
    def room(self) -> int:
        return _PLAIN if self.edns is None else max(_PLAIN, min(self.edns, _MAX_UDP_PAYLOAD))


@dataclasses.dataclass(frozen=True)
class ResourceRecord:
    name: str
    kind: int
    ttl: int
    data: bytes


@dataclasses.dataclass(frozen=True)
class DnsReply:
    code: int = NOERROR
    answers: Sequence[ResourceRecord] = ()
    authority: Sequence[ResourceRecord] = ()
    additional: Sequence[ResourceRecord] = ()
    authoritative: bool = True


def parse_query(data: bytes) -> DnsQuery:
    """Raises MalformedMessage; see `error_response`."""
    try:
        number, flags, questions, answers, authorities, additional = struct.unpack_from("!6H", data)
        if flags & _RESPONSE:
            raise MalformedMessage("not a query")
        if questions != 1:
            raise MalformedMessage("not exactly one question")
        name, position = _name(data, 12)
        kind, klass = struct.unpack_from("!HH", data, position)
        question, position = data[12 : position + 4], position + 4
        edns, version = _edns(data, position, answers + authorities + additional)
    except (struct.error, IndexError) as error:
        raise MalformedMessage("cut short") from error
    return DnsQuery(number, flags, name, kind, klass, question, edns, version)


def _edns(data: bytes, position: int, count: int) -> tuple[int | None, int]:
    for _ in range(count):
        _, position = _name(data, position)
        kind, klass, ttl, length = struct.unpack_from("!HHIH", data, position)
        position += 10 + length
        if position > len(data):
            raise MalformedMessage("cut short")
        if kind == OPT:
            return klass, ttl >> 16 & 255
    return None, 0


def _name(data: bytes, position: int) -> tuple[str, int]:
    """A compression pointer must point backwards, so that there is no loop."""
    labels: list[str] = []
    after, limit, length = 0, position, 0
    while size := data[position]:
        if size & 0xC0 == 0xC0:
            after = after or position + 2
            position = (size & 0x3F) << 8 | data[position + 1]
            if position >= limit:
                raise MalformedMessage("invalid compression pointer")
            limit = position
            continue
        if size > 63 or (length := length + size + 1) > 254 or position + 1 + size > len(data):
            raise MalformedMessage("invalid name")
        label = data[position + 1 : position + 1 + size].lower().decode("latin-1")
        labels.append(label.replace("\\", "\\\\").replace(".", "\\."))
        position += 1 + size
    return ".".join(labels), after or position + 1


def encode_name(text: str) -> bytes:
    """Raises ValueError if the name is invalid."""
    packed = b""
    for label in text.rstrip(".").split(".") if text.strip(".") else ():
        encoded = label.encode("ascii")
        if not 0 < len(encoded) < 64:
            raise ValueError(f"invalid name: {text!r}")
        packed += bytes((len(encoded),)) + encoded
    if len(packed) > 254:
        raise ValueError(f"name is too long: {text!r}")
    return packed + b"\0"


def build_query(number: int, text: str, kind: int, room: int = _MAX_UDP_PAYLOAD) -> bytes:
    head = struct.pack("!6H", number, _DESIRED, 1, 0, 0, 1)
    return head + encode_name(text) + struct.pack("!HH", kind, IN) + _opt(room, 0)


def _opt(room: int, code: int) -> bytes:
    return b"\0" + struct.pack("!HHIH", OPT, room, (code >> 4) << 24, 0)


def encode_reply(query: DnsQuery, reply: DnsReply, limit: int) -> bytes:
    """At most limit bytes. Records that do not fit are left out, and the reply is marked as truncated."""
    flags = _RESPONSE | query.flags & (0x7800 | _DESIRED) | _AVAILABLE | reply.code & 15
    flags |= _AUTHORITATIVE if reply.authoritative else 0
    opt = b"" if query.edns is None else _opt(_MAX_UDP_PAYLOAD, reply.code)
    writer = _Writer(query, limit - len(opt))
    answers = writer.add_all(reply.answers)
    authorities = writer.add_all(reply.authority)
    if writer.full:
        flags |= _TRUNCATED
    # Additional records may be left out without truncation.
    additional = writer.add_all(reply.additional)
    head = struct.pack("!6H", query.number, flags, 1, answers, authorities, additional + (1 if opt else 0))
    return head + bytes(writer.body) + opt


class _Writer:
    def __init__(self, query: DnsQuery, limit: int) -> None:
        self.body = bytearray(query.question)
        self.full = False
        self._limit = limit - 12
        self._known: dict[str, int] = {query.name: 12} if query.name else {}

    def add_all(self, records: Sequence[ResourceRecord]) -> int:
        count = 0
        for each in records:
            if self.full or not self._add(each):
                self.full = True
                break
            count += 1
        return count

    def _add(self, each: ResourceRecord) -> bool:
        known = self._known.get(each.name)
        owner = struct.pack("!H", 0xC000 | known) if known is not None else encode_name(each.name)
        packed = owner + struct.pack("!HHIH", each.kind, IN, each.ttl, len(each.data)) + each.data
        if len(self.body) + len(packed) > self._limit:
            return False
        if known is None and len(self.body) + 12 < 0x4000:
            self._known[each.name] = len(self.body) + 12
        self.body += packed
        return True


def error_response(data: bytes, code: int) -> bytes:
    """An error reply to a malformed query; empty: the header is unreadable."""
    if len(data) < 12 or data[2] & 0x80:
        return b""
    number, flags = struct.unpack_from("!HH", data)
    return struct.pack("!6H", number, _RESPONSE | flags & (0x7800 | _DESIRED) | code, 0, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class DnsResponse:
    """The reply of an upstream resolver."""

    code: int
    truncated: bool
    answers: list[ResourceRecord]


def parse_response(data: bytes) -> DnsResponse:
    """Raises MalformedMessage. Decodes addresses and aliases only: other data may contain compression pointers."""
    try:
        _, flags, questions, count, _, _ = struct.unpack_from("!6H", data)
        position = 12
        for _ in range(questions):
            position = _name(data, position)[1] + 4
        answers = []
        for _ in range(count):
            owner, position = _name(data, position)
            kind, _, ttl, length = struct.unpack_from("!HHIH", data, position)
            start, position = position + 10, position + 10 + length
            if kind in (A, AAAA) and position <= len(data):
                answers.append(ResourceRecord(owner, kind, ttl, data[start:position]))
            elif kind == CNAME:
                answers.append(ResourceRecord(owner, kind, ttl, encode_name(_name(data, start)[0])))
    except (struct.error, IndexError, UnicodeEncodeError) as error:
        raise MalformedMessage("cut short") from error
    return DnsResponse(flags & 15, bool(flags & _TRUNCATED), answers)


def question_section(data: bytes) -> bytes:
    """The question section of a message, in lower case; empty if there is none."""
    try:
        _, position = _name(data, 12)
    except (IndexError, MalformedMessage):
        return b""
    return data[12 : position + 4].lower()
