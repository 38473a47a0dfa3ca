"""The cost of a validation rule: an upper bound in nanoseconds, computed from its syntax tree and the values that it reads.

The library limits iterations only. A rule of a few lines can double a string thirty times, and a list that `map` builds is
copied with every item. Memory counts as time: a byte takes seven nanoseconds, so that the budget is fifty megabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from traincrew.embedded.apiserver.schema import cel_function_cost, cel_syntax
from traincrew.embedded.apiserver.schema.cel_function_cost import ALLOCATED, NODE, UNKNOWN, Estimate, Scope, count, size_of
from traincrew.embedded.apiserver.schema.cel_syntax import Call, Collection, Comprehension, Constant, Expression, Ident, Select

BUDGET = 400_000_000
"""Of all rules of one object."""
MAX_ITERATIONS = 10_000
"""Of one evaluation. The library has the same limit."""
MAX_COMPLEXITY = 20_000
"""Nodes of a rule, doubled with every loop inside another: the time to estimate its cost."""

_EVALUATION, _PER_BYTE = 20_000, 30
_APPENDED = 100
"""A list that a loop builds is copied with every item: this, times the square of its length."""
_QUICK = 50_000
"""Rules that cannot cost more are not looked at in detail."""

Model = Callable[[Scope], Estimate]


class CostModel:
    """The cost of one expression."""

    def __init__(self, expression: Expression) -> None:
        self.nodes, self.loops = _measure(expression)
        self.complexity = self.nodes * 2**self.loops
        self._model = _model(expression)
        self._simple = not self.loops and cel_function_cost.is_linear(expression)

    def cost(self, given: dict[str, Any]) -> float:
        size = len(msgspec.json.encode(given))
        base = _EVALUATION + _PER_BYTE * size
        if self._simple and (quick := self.nodes * (NODE + _PER_BYTE * size)) <= _QUICK:
            return base + quick
        return base + self._model({name: (0, size_of(value), value) for name, value in given.items()})[0]


def _measure(expression: Expression) -> tuple[int, int]:
    """The number of nodes, and how deeply loops are nested."""
    nodes, loops = 1, 0
    for child in cel_syntax.children(expression):
        inner_nodes, inner_loops = _measure(child)
        nodes, loops = nodes + inner_nodes, max(loops, inner_loops)
    return nodes, loops + (isinstance(expression, Comprehension) and not expression.is_binding)


def _model(expression: Expression) -> Model:
    match expression:
        case Constant(text=text):
            constant: Estimate = (NODE, len(text or "") + 8, UNKNOWN if text is None else text)
            return lambda scope: constant
        case Ident(name=name):
            unknown: Estimate = (NODE, 8, UNKNOWN)
            return lambda scope: scope.get(name, unknown)
        case Select():
            return _select(expression)
        case Collection(elements=elements):
            return _collection([_model(each) for each in elements])
        case Comprehension():
            return _binding(expression) if expression.is_binding else _loop(expression)
        case Call(function=function, operands=operands):
            return _call(function, [_model(each) for each in operands])


def _select(expression: Select) -> Model:
    operand, field, test_only = _model(expression.operand), expression.field, expression.test_only

    def select(scope: Scope) -> Estimate:
        cost, size, value = operand(scope)
        if test_only:
            return cost + NODE, 8, UNKNOWN
        if value.__class__ is not dict:
            return cost + NODE, size, UNKNOWN
        inner = value.get(field)
        return cost + NODE, size_of(inner), inner

    return select


def _collection(elements: list[Model]) -> Model:
    def collection(scope: Scope) -> Estimate:
        cost, size = NODE, 16.0 * len(elements)
        for element in elements:
            element_cost, element_size, _ = element(scope)
            cost, size = cost + element_cost, size + element_size
        return cost + ALLOCATED * size, size, UNKNOWN

    return collection


def _call(function: str, operands: list[Model]) -> Model:
    price = cel_function_cost.price(function)
    return lambda scope: price([each(scope) for each in operands])


def _binding(expression: Comprehension) -> Model:
    initial, result, name = _model(expression.initial), _model(expression.result), expression.accumulator

    def binding(scope: Scope) -> Estimate:
        bound_cost, bound_size, bound_value = initial(scope)
        cost, size, value = result({**scope, name: (NODE, bound_size, bound_value)})
        return cost + bound_cost, size, value

    return binding


def _loop(expression: Comprehension) -> Model:
    """Iterations over many small items and over few large ones: together an upper bound for any distribution of sizes."""
    items, condition, step = _model(expression.range), _model(expression.condition), _model(expression.step)
    result, variable, accumulator = _model(expression.result), expression.variable, expression.accumulator
    builds_list = isinstance(expression.initial, Collection)

    def iteration(scope: Scope, size: float) -> tuple[float, float]:
        inner = {**scope, variable: (NODE, size, UNKNOWN), accumulator: (NODE, 8.0, UNKNOWN)}
        step_cost, step_size, _ = step(inner)
        return condition(inner)[0] + step_cost, step_size

    def loop(scope: Scope) -> Estimate:
        estimate = items(scope)
        cost, size, _ = estimate
        iterations, largest = min(count(estimate), MAX_ITERATIONS), min(cel_function_cost.largest_item(estimate), size)
        few = min(size / max(largest, 1), iterations)
        (small_cost, small_size), (large_cost, large_size) = iteration(scope, 8), iteration(scope, largest)
        cost += iterations * small_cost + few * large_cost
        built = 8.0
        if builds_list:
            cost, built = cost + iterations * iterations * _APPENDED, iterations * small_size + few * large_size
        result_cost, result_size, _ = result({**scope, accumulator: (NODE, built, UNKNOWN)})
        return cost + result_cost, result_size, UNKNOWN

    return loop
