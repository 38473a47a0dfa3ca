"""Random validation rules in CEL, most of them valid, for lists of integers, lists of strings and strings."""

from __future__ import annotations

import random
from typing import Any

Object = dict[str, Any]

MOST_DEPTH = 5


class RuleGenerator:
    """Expressions over `self`. A variable of a loop has the type of the items."""

    def __init__(self, rng: random.Random, item: str) -> None:
        self._rng, self._item, self._names = rng, item, 0

    def condition(self, depth: int = MOST_DEPTH, scope: tuple[str, ...] = ()) -> str:
        if depth == 0:
            return f"{self._atom(scope)} {self._rng.choice(('==', '!='))} {self._atom(scope)}"
        match self._rng.randrange(8):
            case 0:
                return f"({self.condition(depth - 1, scope)} {self._rng.choice(('&&', '||'))} {self.condition(depth - 1, scope)})"
            case 1:
                return f"!({self.condition(depth - 1, scope)})"
            case 2:
                chosen = self.condition(depth - 1, scope)
                return f"({chosen} ? {self.condition(depth - 1, scope)} : {self.condition(depth - 1, scope)})"
            case 3 | 4 | 5:
                name, macro = self._name(), self._rng.choice(("all", "exists", "exists_one"))
                return f"{self._list(depth - 1, scope)}.{macro}({name}, {self.condition(depth - 1, (*scope, name))})"
            case 6:
                return f"{self._list(depth - 1, scope)}.size() {self._rng.choice('<>')} {self._rng.choice((0, 3, 10**6))}"
            case _:
                return self._of_text(depth - 1)

    def _list(self, depth: int, scope: tuple[str, ...]) -> str:
        base = "self" if self._item != "text" else "self.split('')"
        if depth <= 0:
            return base
        inner = self._list(depth - 1, scope)
        match self._rng.randrange(5):
            case 0:
                name = self._name()
                return f"{inner}.map({name}, {self._rng.choice((name, base, self._atom((*scope, name))))})"
            case 1:
                name = self._name()
                return f"{inner}.filter({name}, {self.condition(0, (*scope, name))})"
            case 2:
                return f"({inner} + {self._list(depth - 1, scope)})"
            case _:
                return base

    def _of_text(self, depth: int) -> str:
        text = {"text": "self", "string": "self.join(',')", "integer": "self.map(i, string(i)).join(',')"}[self._item]
        for _ in range(max(depth, 0)):
            text = self._rng.choice(
                (
                    f"({text} + {text})",
                    f"{text}.replace('a', {text})",
                    f"{text}.lowerAscii()",
                    f"cel.bind(t, {text}, t + t)",
                    text,
                )
            )
        test = self._rng.choice((".size() > 3", ".matches('(a|b)*c')", ".contains('ab')", ".matches('^(a+)+$')", " != ''"))
        return f"{text}{test}"

    def _atom(self, scope: tuple[str, ...]) -> str:
        return self._rng.choice(("self", "self", "1", "'a'", "[1]", *scope, *scope))

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"


def schema(rng: random.Random) -> tuple[Object, list[Any]]:
    """A schema with rules, and values of it."""
    item = rng.choice(("integer", "string", "text"))
    generator = RuleGenerator(rng, item)
    rules = [{"rule": generator.condition(rng.randint(0, MOST_DEPTH))[:20_000]} for _ in range(rng.choice((1, 1, 3, 20)))]
    while len(str(rules)) > 80_000:
        rules.pop()
    sizes = (0, 3, 50, 700, 12_000)
    if item == "text":
        return {"type": "string", "x-kubernetes-validations": rules}, [rng.choice(("a", "ab", "é")) * size for size in sizes]
    values: list[Any] = [[index if item == "integer" else f"s{index}" for index in range(min(size, 8_000))] for size in sizes]
    return {"type": "array", "items": {"type": item}, "x-kubernetes-validations": rules}, values
