"""Expands `$(NAME)` in variables, commands and arguments. `$$` is a dollar sign; an unknown name stays unexpanded. PURE."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


class TooLong(Exception):
    """The expanded text is longer than the caller accepts."""


def expand(text: str, values: Mapping[str, str], limit: int) -> str:
    """Raises TooLong as soon as the text has more than `limit` characters: few references can name gigabytes."""
    return _substitute(text, lambda name: values.get(name, f"$({name})"), limit)


def expand_completely(text: str, values: Mapping[str, str], limit: int) -> tuple[str, list[str]]:
    """The expanded text, and the names without a value. No reference stays unexpanded. Raises TooLong."""
    missing: set[str] = set()

    def value(name: str) -> str:
        if not values.get(name):
            missing.add(name)
        return values.get(name, "")

    return _substitute(text, value, limit), sorted(missing)


def _substitute(text: str, value: Callable[[str], str], limit: int) -> str:
    # No reference ends after the last bracket: each search there would read the whole rest of the text.
    end = text.rfind(")") + 1
    pieces, size, at = list[str](), 0, 0
    for match in _REFERENCE.finditer(text, 0, end):
        pieces += (text[at : match.start()], "$" if match[1] else value(match[2]))
        size, at = size + len(pieces[-2]) + len(pieces[-1]), match.end()
        if size > limit:
            raise TooLong
    expanded = "".join((*pieces, text[at:end], text[end:].replace("$$", "$")))
    if len(expanded) > limit:
        raise TooLong
    return expanded
