"""The cost of functions in validation rules, in nanoseconds, and the sizes of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from traincrew.apimachinery.structural import regular_expressions
from traincrew.embedded.apiserver.schema import cel_syntax
from traincrew.embedded.apiserver.schema.cel_syntax import Call, Comprehension, Expression

Estimate = tuple[float, float, Any]
"""Cost, the size of the result in JSON, and the result if it is known before the evaluation."""
Scope = dict[str, Estimate]
Price = Callable[[list[Estimate]], Estimate]
"""From the estimates of the operands to that of the call."""

UNKNOWN: Any = object()
TEXT: Any = object()
"""In place of a result that is not known but a text."""
NODE, PER_BYTE, ALLOCATED = 100.0, 20, 7
_CALLBACK = 3_000
"""A function that is implemented in Python."""
_FORMATTED = 200
"""Characters that one of a format may stand for: `%.1000f` is the longest."""
_ITEM, _PART = 32, 50
"""Bytes of an item in a list that is copied, and of a part of a text that is split."""
_REGEXP, _PARSED, _INSTRUCTION = 50_000, 1_000, 5


def size_of(value: Any) -> float:
    if value.__class__ is str:
        return len(value) + 2
    return len(msgspec.json.encode(value)) if value.__class__ is dict or value.__class__ is list else 8


def count(estimate: Estimate) -> float:
    """Items of a list or a map."""
    value = estimate[2]
    return len(value) if value.__class__ is dict or value.__class__ is list else estimate[1] / 2 + 1


def largest_item(estimate: Estimate) -> float:
    """Of a map, the largest key."""
    value = estimate[2]
    if value.__class__ is dict or value.__class__ is list:
        return max(map(size_of, value), default=0)
    return estimate[1]


def price(function: str) -> Price:
    return _PRICES.get(function, _other)


def is_linear(expression: Expression) -> bool:
    """Whether every call takes linear time, and its result is no longer than its operands."""
    if isinstance(expression, Comprehension) or (isinstance(expression, Call) and expression.function not in _LINEAR):
        return False
    return all(map(is_linear, cel_syntax.children(expression)))


def _total(operands: list[Estimate]) -> tuple[float, float]:
    return sum(cost for cost, _, _ in operands), sum(size for _, size, _ in operands)


def _other(operands: list[Estimate]) -> Estimate:
    cost, size = _total(operands)
    return cost + _CALLBACK + PER_BYTE * size, size, UNKNOWN


def _logic(operands: list[Estimate]) -> Estimate:
    return _total(operands)[0] + NODE, 8, UNKNOWN


def _comparison(operands: list[Estimate]) -> Estimate:
    cost, size = _total(operands)
    return cost + NODE + PER_BYTE * size, 8, UNKNOWN


def _conditional(operands: list[Estimate]) -> Estimate:
    return _total(operands)[0] + NODE, max(size for _, size, _ in operands[1:]), UNKNOWN


def _index(operands: list[Estimate]) -> Estimate:
    cost, (_, size, value), key = _total(operands)[0], operands[0], operands[-1][2]
    if value.__class__ is dict and key.__class__ is str:
        inner = value.get(key)
        return cost + NODE, size_of(inner), inner
    return cost + NODE, size, UNKNOWN


def _text(operands: list[Estimate]) -> Estimate:
    cost, size, _ = _other(operands)
    return cost, size, TEXT


def _grown(operands: list[Estimate], size: float) -> Estimate:
    return _total(operands)[0] + NODE + ALLOCATED * size, size, TEXT


def _concatenation(operands: list[Estimate]) -> Estimate:
    cost, size = _total(operands)
    if any(value is TEXT or value.__class__ is str for _, _, value in operands):
        return _grown(operands, size)
    return cost + NODE + ALLOCATED * (size + _ITEM * sum(map(count, operands))), size, UNKNOWN


def _replacement(operands: list[Estimate]) -> Estimate:
    """The text may be inserted before every character."""
    inserted = operands[2][1] if len(operands) > 2 else 0
    return _grown(operands, (operands[0][1] + 1) * (inserted + 1))


def _join(operands: list[Estimate]) -> Estimate:
    separator = operands[1][1] if len(operands) > 1 else 0
    return _grown(operands, operands[0][1] + count(operands[0]) * separator)


def _split(operands: list[Estimate]) -> Estimate:
    cost, size = _total(operands)[0], operands[0][1]
    return cost + NODE + ALLOCATED * _PART * size, size * 2, UNKNOWN


def _format(operands: list[Estimate]) -> Estimate:
    return _grown(operands, operands[0][1] * _FORMATTED + 4 * operands[-1][1])


def _aggregate(operands: list[Estimate]) -> Estimate:
    cost, size = _total(operands)
    return cost + _CALLBACK + 1_000 * count(operands[0]), size, UNKNOWN


def _sets(operands: list[Estimate]) -> Estimate:
    left, right = count(operands[0]), count(operands[-1])
    return _total(operands)[0] + _CALLBACK + 1_000 * (left + right) + 100 * left * right, 8, UNKNOWN


def _matching(quadratic: bool) -> Price:
    def matching(operands: list[Estimate]) -> Estimate:
        (_, text, _), (_, pattern_size, pattern) = operands[0], operands[1]
        program = _program_size(pattern) if pattern.__class__ is str else pattern_size * 1_000
        read = min(text * text, regular_expressions.MAX_READ) if quadratic else text
        spent = _REGEXP + pattern_size * _PARSED + text * program * _INSTRUCTION + 2 * read
        return _total(operands)[0] + spent, text, UNKNOWN

    return matching


def _program_size(pattern: str) -> int:
    try:
        return regular_expressions.compile_pattern(pattern).size
    except regular_expressions.PatternError as error:
        return error.size + len(pattern)


_LOGIC = ("_&&_", "_||_", "!_", "@not_strictly_false")
_COMPARISONS = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in", "size", "startsWith", "endsWith", "contains")
_PRICES: dict[str, Price] = {
    **dict.fromkeys(_LOGIC, _logic),
    **dict.fromkeys(_COMPARISONS, _comparison),
    "_?_:_": _conditional,
    "_[_]": _index,
    "_+_": _concatenation,
    **dict.fromkeys(("string", "lowerAscii", "upperAscii", "trim", "substring", "charAt", "reverse"), _text),
    "replace": _replacement,
    "join": _join,
    "split": _split,
    "format": _format,
    **dict.fromkeys(("sum", "min", "max", "isSorted"), _aggregate),
    **dict.fromkeys(("sets.contains", "sets.intersects", "sets.equivalent"), _sets),
    "matches": _matching(quadratic=False),
    "find": _matching(quadratic=False),
    "findAll": _matching(quadratic=True),
}
_LINEAR = frozenset((*_LOGIC, *_COMPARISONS, "_?_:_", "_[_]", "has"))
