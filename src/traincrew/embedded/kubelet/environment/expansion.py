"""`$(NAME)` in environment variables, commands and arguments: `$$` is a dollar, an unknown name stays as it is written. PURE."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    return _expanded(text, lambda name: values.get(name, f"$({name})"))


def expand_all(text: str, values: Mapping[str, str]) -> tuple[str, list[str]]:
    """The text, and the names that have no value: for what must not keep a reference."""
    lacking: set[str] = set()

    def value(name: str) -> str:
        if not values.get(name):
            lacking.add(name)
        return values.get(name, "")

    return _expanded(text, value), sorted(lacking)


def _expanded(text: str, value: Callable[[str], str]) -> str:
    return _REFERENCE.sub(lambda found: "$" if found[1] else value(found[2]), text)
