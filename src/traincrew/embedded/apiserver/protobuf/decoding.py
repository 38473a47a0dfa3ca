"""Decodes a message to the object that its JSON form would give.

Missing fields and nulls are omitted. A repeated struct is merged; of other repeated values the last one counts, as in Go.
"""

from __future__ import annotations

import struct
from typing import Any

from traincrew.embedded.apiserver.protobuf import well_known_types, wire_format
from traincrew.embedded.apiserver.protobuf.messages import Field, MessageType
from traincrew.embedded.apiserver.protobuf.wire_format import FIXED64, LENGTH, VARINT, Malformed

MAX_DEPTH = 150
"""The maximum nesting of messages: JSON schemas nest without a limit."""
MAX_MESSAGES = 400_000
"""The maximum number of messages in a body. An empty one has two bytes and takes a hundred in memory."""

_NUMBERS = 0xFFFFFFFF
"""Go truncates field numbers to 32 bits."""
_WIRE_TYPES = {"bool": VARINT, "int32": VARINT, "int64": VARINT, "double": FIXED64}
_EMPTY = {"bool": False, "int32": 0, "int64": 0, "double": 0, "string": "", "bytes": "", "raw": b""}


class MessageReader:
    """Reads one body."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._depth = 0
        self._count = 0

    def whole(self, message: MessageType) -> dict[str, Any]:
        decoded: dict[str, Any] = {}
        self._fill(message, decoded, 0, len(self._body))
        return decoded

    def _value(self, message: MessageType, pos: int, end: int) -> Any:
        decoded: dict[str, Any] = {}
        self._fill(message, decoded, pos, end)
        return message.finish(decoded) if message.finish is not None else decoded

    def _fill(self, message: MessageType, into: dict[str, Any], pos: int, end: int) -> None:
        self._count += 1
        self._depth += 1
        if self._depth > MAX_DEPTH or self._count > MAX_MESSAGES:
            raise Malformed("proto: exceeded max depth" if self._depth > MAX_DEPTH else "proto: too many messages")
        body, fields = self._body, message.fields
        while pos < end:
            tag = body[pos]
            if tag < 0x80:
                pos += 1
            else:
                tag, pos = wire_format.varint(body, pos, end)
            field = fields.get(tag >> 3 & _NUMBERS)
            if field is None or tag & 7 == wire_format.END_GROUP:
                pos = self._unknown(message, tag, pos, end)
            elif tag & 7 == LENGTH:
                if field.plain and pos < end and body[pos] < 0x80 and (stop := pos + 1 + body[pos]) <= end:
                    self._keep(field, into, well_known_types.text(body[pos + 1 : stop]))
                    pos = stop
                else:
                    pos = self._length_delimited(field, into, pos, end)
            else:
                pos = self._number(field, into, tag & 7, (pos, end))
        self._depth -= 1

    def _unknown(self, message: MessageType, tag: int, pos: int, end: int) -> int:
        """Skips a field of a newer client."""
        if tag & 7 == wire_format.END_GROUP:
            raise Malformed(f"proto: {message.name}: wiretype end group for non-group")
        number = wire_format.signed32(tag >> 3)
        if number <= 0:
            raise Malformed(f"proto: {message.name}: illegal tag {number} (wire type {tag})")
        return wire_format.skip_field(self._body, tag, pos, end)

    def _length_delimited(self, field: Field, into: dict[str, Any], pos: int, end: int) -> int:
        body = self._body
        if pos < end and body[pos] < 0x80:
            start = pos + 1
            stop = start + body[pos]
            if stop > end:
                raise wire_format.unexpected_end()
        else:
            start, stop = wire_format.length(body, pos, end)
        if field.mode == "map":
            key, value = self._entry(field, start, stop)
            into.setdefault(field.name, {})[key] = value
        elif field.mode == "repeated":
            into.setdefault(field.name, []).extend(self._items(field, start, stop))
        elif field.form is not None:
            self._struct(field, field.form, into, start, stop)
        else:
            self._keep(field, into, self._scalar(field, start, stop))
        return stop

    def _struct(self, field: Field, form: MessageType, into: dict[str, Any], start: int, stop: int) -> None:
        if field.mode == "inline":
            self._fill(form, into, start, stop)
        elif form.finish is None:
            known = into.get(field.name)
            if known is None:
                known = into[field.name] = {}
            self._fill(form, known, start, stop)
        else:
            value = self._value(form, start, stop)
            if value is not None:
                into[field.name] = value
            else:
                into.pop(field.name, None)

    def _keep(self, field: Field, into: dict[str, Any], value: Any) -> None:
        if value or field.kept:
            into[field.name] = value
        else:
            into.pop(field.name, None)

    def _scalar(self, field: Field, start: int, stop: int) -> Any:
        raw = self._body[start:stop]
        match field.type:
            case "string":
                return well_known_types.text(raw)
            case "bytes":
                return well_known_types.base64(raw)
            case "raw":
                return raw
        raise _wrong(LENGTH, field)

    def _items(self, field: Field, start: int, stop: int) -> list[Any]:
        if field.form is not None:
            return [self._value(field.form, start, stop)]
        if field.type not in _WIRE_TYPES:
            return [self._scalar(field, start, stop)]
        items = []
        while start < stop:  # packed
            value, start = self._numeral(field, start, stop)
            items.append(value)
        return items

    def _entry(self, field: Field, pos: int, end: int) -> tuple[str, Any]:
        """Key and value of a map; an empty one may be missing."""
        key, value = "", None
        if field.form is None:
            value = _EMPTY[field.type]
        elif field.form.finish is None:
            value = {}
        else:
            value = field.form.finish({})
        while pos < end:
            tag, pos = wire_format.varint(self._body, pos, end)
            if tag >> 3 not in (1, 2):
                pos = self._unknown(_ENTRY, tag, pos, end)
                continue
            start, pos = wire_format.length(self._body, pos, end)
            if tag >> 3 == 1:
                key = well_known_types.text(self._body[start:pos])
            elif field.form is not None:
                value = self._value(field.form, start, pos)
            else:
                value = self._scalar(field, start, pos)
        return key, value

    def _number(self, field: Field, into: dict[str, Any], wire_type: int, span: tuple[int, int]) -> int:
        if _WIRE_TYPES.get(field.type) != wire_type or field.mode == "map":
            raise _wrong(wire_type, field)
        value, pos = self._numeral(field, *span)
        if field.mode == "repeated":
            into.setdefault(field.name, []).append(value)
        else:
            self._keep(field, into, value)
        return pos

    def _numeral(self, field: Field, pos: int, end: int) -> tuple[bool | int | float, int]:
        if field.type == "double":
            if pos + 8 > end:
                raise wire_format.unexpected_end()
            return well_known_types.number(struct.unpack_from("<d", self._body, pos)[0]), pos + 8
        value, pos = wire_format.varint(self._body, pos, end)
        if field.type == "bool":
            return value != 0, pos
        return (wire_format.signed32(value) if field.type == "int32" else wire_format.signed(value)), pos


_ENTRY = MessageType("Entry")


def _wrong(wire_type: int, field: Field) -> Malformed:
    named = field.form.name if field.form is not None and field.name in ("", "metadata") else field.name
    return Malformed(f"proto: wrong wireType = {wire_type} for field {named[:1].upper()}{named[1:]}")
