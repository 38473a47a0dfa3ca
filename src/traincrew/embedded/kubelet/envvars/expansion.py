"""Expands `$(NAME)` in variables, commands and arguments. `$$` is a dollar sign; an unknown name stays unexpanded. PURE."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    return _substitute(text, lambda name: values.get(name, f"$({name})"))


def expand_completely(text: str, values: Mapping[str, str]) -> tuple[str, list[str]]:
    """The expanded text, and the names without a value. No reference stays unexpanded."""
    missing: set[str] = set()

    def value(name: str) -> str:
        if not values.get(name):
            missing.add(name)
        return values.get(name, "")

    return _substitute(text, value), sorted(missing)


def _substitute(text: str, value: Callable[[str], str]) -> str:
    return _REFERENCE.sub(lambda match: "$" if match[1] else value(match[2]), text)
