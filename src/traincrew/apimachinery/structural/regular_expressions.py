"""Regular expressions with Go's syntax and linear-time matching."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Protocol


class Pattern(Protocol):
    def search(self, text: str, /) -> object: ...


_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,?\d*\})")


@functools.lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Pattern:
    """A compiled pattern. An invalid pattern matches nothing."""
    if _REPEATED_GROUP.search(pattern) and (linear := _linear(pattern)) is not None:
        return linear
    return python(pattern)


@functools.lru_cache(maxsize=4096)
def python(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(translate(pattern), re.ASCII)
    except re.error:
        return re.compile(r"(?!)")


class _Linear:
    """Python's matching may take exponential time if a group repeats; CEL uses RE2, as Go does."""

    def __init__(self, program: Any) -> None:
        self._program = program

    def search(self, text: str, /) -> object:
        return self._program.eval(data={"self": text}).value() is True


@functools.cache
def _environment() -> Any:
    from cel_expr_python import cel

    return cel.NewEnv(variables={"self": cel.Type.STRING})


def _linear(pattern: str) -> _Linear | None:
    try:
        return _Linear(_environment().compile(f"self.matches({json.dumps(pattern, ensure_ascii=False)})"))
    except RuntimeError:
        return None


def translate(pattern: str) -> str:
    # Go's $ matches at the end only; Python's also before a final newline. Go's classes are ASCII.
    ending = re.sub(r"(?<!\\)((?:\\\\)*)\$(?=$|\))", r"\1\\Z", pattern)
    ending = re.sub(r"\(\?P?<([a-zA-Z_]\w*)>", r"(?P<\1>", ending).replace("\\z", "\\Z")
    for name, characters in _CLASSES.items():
        ending = ending.replace(f"[:{name}:]", characters)
    return ending


_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "xdigit": "0-9a-fA-F", "word": r"\w", "punct": r"!-/:-@\[-`{-~",
}  # fmt: skip
