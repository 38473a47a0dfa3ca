"""The words of the commands of containers, and the numbers that their flags have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from traincrew.kinds.replica import Manifest

_VARIABLE = re.compile(r"""["']?\$(?:\((\w+)\)|\{(\w+)\}|(\w+))["']?""")


def words(containers: Iterable[Manifest]) -> list[str]:
    """The words of their commands and arguments. One of these strings may be a shell script of many words.

    A word that is a variable of the container, as `$(MIN_NP)` or for a shell `$MIN_NP`, is replaced by its value.
    """
    return [word for container in containers for word in _words_of(container)]


def number(words: Sequence[str], flags: tuple[str, ...]) -> int | None:
    """The value of the first of these flags, as `--flag 2` or `--flag=2`. Other spellings of the flag have no number."""
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in flags:
            value = value or (words[index + 1] if index + 1 < len(words) else "")
            if value.isdecimal():
                return int(value)
    return None


def _words_of(container: Manifest) -> list[str]:
    values = {each.get("name"): each.get("value") for each in container.get("env") or []}
    strings = (text for key in ("command", "args") for text in container.get(key) or [])
    return [_expanded(word, values) for text in strings for word in str(text).split()]


def _expanded(word: str, values: Mapping[str | None, str | None]) -> str:
    name, equals, value = word.rpartition("=")
    variable = _VARIABLE.fullmatch(value)
    known = values.get(next(filter(None, variable.groups()))) if variable is not None else None
    return word if known is None else f"{name}{equals}{known}"
