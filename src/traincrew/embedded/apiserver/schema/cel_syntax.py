"""The syntax tree of a compiled CEL expression, decoded from its serialized form (cel.expr.CheckedExpr)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from traincrew.embedded.apiserver.protobuf import wire_format

_ANY_VALUE, _CHECKED_EXPR = 2, 4
_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _COMPREHENSION = range(3, 10)


class Constant(NamedTuple):
    text: str | None
    """A string; None for any other type."""
    false: bool = False


class Ident(NamedTuple):
    name: str


class Select(NamedTuple):
    operand: Expression
    field: str
    test_only: bool
    """has(operand.field)"""


class Call(NamedTuple):
    function: str
    operands: tuple[Expression, ...]
    """The target of a member function comes first."""


class Collection(NamedTuple):
    """A list, or the keys and values of a map."""

    elements: tuple[Expression, ...]


class Comprehension(NamedTuple):
    """A macro: all, exists, exists_one, map, filter; cel.bind is one over an empty list."""

    variable: str
    range: Expression
    accumulator: str
    initial: Expression
    condition: Expression
    step: Expression
    result: Expression

    @property
    def is_binding(self) -> bool:
        return isinstance(self.condition, Constant) and self.condition.false


Expression = Constant | Ident | Select | Call | Collection | Comprehension


def decode(serialized: bytes) -> Expression:
    checked = _last(serialized, _ANY_VALUE)
    return _expression(_last(checked, _CHECKED_EXPR))


def children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Select(operand=operand):
            return (operand,)
        case Call(operands=operands):
            return operands
        case Collection(elements=elements):
            return elements
        case Comprehension():
            parts = expression
            return parts.range, parts.initial, parts.condition, parts.step, parts.result
    return ()


def _fields(body: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers with bytes or numbers."""
    position, end = 0, len(body)
    while position < end:
        tag, position = wire_format.varint(body, position, end)
        if tag & 7 == wire_format.LENGTH:
            start, position = wire_format.length(body, position, end)
            yield tag >> 3, body[start:position]
        elif tag & 7 == wire_format.VARINT:
            value, position = wire_format.varint(body, position, end)
            yield tag >> 3, value
        else:
            position = wire_format.skip_field(body, tag, position, end)


def _last(body: bytes, number: int) -> bytes:
    return next((value for field, value in _fields(body) if field == number), b"")


def _expression(body: bytes) -> Expression:
    for field, value in _fields(body):
        if field in _DECODERS:
            return _DECODERS[field](value)
    return Constant(None)  # null


def _constant(body: bytes) -> Expression:
    for field, value in _fields(body):
        if field == 6:
            return Constant(value.decode(errors="replace"))
        return Constant(None, false=(field, value) == (2, 0))
    return Constant(None)


def _select(body: bytes) -> Expression:
    fields = dict(_fields(body))
    return Select(_expression(fields.get(1, b"")), fields.get(2, b"").decode(errors="replace"), bool(fields.get(3)))


def _call(body: bytes) -> Expression:
    function, target, operands = "", list[Expression](), list[Expression]()
    for field, value in _fields(body):
        match field:
            case 1:
                target.append(_expression(value))
            case 2:
                function = value.decode()
            case 3:
                operands.append(_expression(value))
    return Call(function, (*target, *operands))


def _map(body: bytes) -> Expression:
    entries = [dict(_fields(value)) for field, value in _fields(body) if field == 2]
    return Collection(tuple(_expression(each.get(part, b"")) for each in entries for part in (3, 4)))


def _comprehension(body: bytes) -> Expression:
    fields = dict(_fields(body))
    parts = [_expression(fields.get(number, b"")) for number in (2, 4, 5, 6, 7)]
    variable, accumulator = (fields.get(number, b"").decode() for number in (1, 3))
    return Comprehension(variable, parts[0], accumulator, *parts[1:])


_DECODERS = {
    _CONST: _constant,
    _IDENT: lambda body: Ident(_last(body, 1).decode()),
    _SELECT: _select,
    _CALL: _call,
    _LIST: lambda body: Collection(tuple(_expression(value) for field, value in _fields(body) if field == 1)),
    _STRUCT: _map,
    _COMPREHENSION: _comprehension,
}
