"""Regular expressions with the syntax of Go, which is that of RE2. Matching takes linear time.

RE2 differs from Go's package regexp in few points. What Go rejects is rejected here, with the messages of Go. Not supported are
names of Unicode classes that only recent versions of Go accept (`\\p{Letter}`), and expressions whose program is too large.
"""

from __future__ import annotations

import functools
import re
from typing import Any

MAX_PARSING_COST = 100_000
"""Of an expression: 20,000 characters, or 500 Unicode classes (`\\pL`). Parsing them takes 30 kilobytes each."""
MAX_READ = 50_000_000
"""Bytes that are read to find all matches in a text: each match may read all that follow it."""
_MEMORY, _MORE_MEMORY = 2**18, 2**23
"""Bytes of a compiled expression with its automaton. Few expressions need more than the first."""
_SMALL = 2_000
"""Programs up to this size run within the first limit."""
_FAILED_SIZE = 350_000
"""The size of a program that the second limit does not allow, in instructions."""

_GO_MESSAGES = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
_TOO_LARGE = "expression too large"
_LOOKBEHIND = re.compile(r"\(\?<[=!]")
_TOKEN = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\(?P<escape>.)|\[\^?\]?(?:\[:\^?\w*:\]|\\.|[^\]\\])*+\]|(?P<group>\(\?P?<(?P<name>[^>]*)>)|.", re.DOTALL
)
"""Of an expression that RE2 accepts."""


_CLASS_COST, _CHARACTER_COST = 200, 5
"""Of parsing, as many instructions as take the same time to compile."""


class PatternError(ValueError):
    """The expression is invalid. The message is Go's."""

    def __init__(self, message: str, size: int = 0) -> None:
        super().__init__(f"error parsing regexp: {message}")
        self.size = size
        """The number of instructions that were compiled without use."""


def parsing_cost(pattern: str) -> int:
    """A Unicode class takes as long as hundreds of instructions."""
    classes = pattern.count("\\p") + pattern.count("\\P")
    return classes * _CLASS_COST + len(pattern) * _CHARACTER_COST


class Regexp:
    """A compiled expression."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self.size: int = compiled.programsize
        """Instructions: a match executes at most this number for each character of the text."""

    def matches(self, text: str) -> bool:
        """Whether the text contains a match."""
        return self._compiled.search(_encoded(text)) is not None

    def find(self, text: str) -> str:
        """The first match; empty if there is none."""
        found = self._compiled.search(_encoded(text))
        return found[0].decode() if found else ""

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """Raises PatternError: to find the next match, RE2 may read the rest of the text."""
        encoded, matches, read = _encoded(text), list[str](), 0
        for each in self._compiled.finditer(encoded):
            if len(matches) == limit:
                break
            read += len(encoded) - each.start()
            if read > MAX_READ:
                raise PatternError(f"{_TOO_LARGE}: too many matches in {len(encoded)} bytes")
            matches.append(each[0].decode(errors="replace"))
        return matches


def compile_pattern(pattern: str) -> Regexp:
    """Raises PatternError."""
    compiled = _small(pattern)
    if isinstance(compiled, Regexp):
        return compiled
    compiled = _large(pattern) if compiled is None else compiled
    if isinstance(compiled, PatternError):
        raise compiled.with_traceback(None)
    return compiled


@functools.lru_cache(maxsize=256)
def _small(pattern: str) -> Regexp | PatternError | None:
    """None: the expression needs more memory."""
    if parsing_cost(pattern) > MAX_PARSING_COST:
        return PatternError(f"{_TOO_LARGE}: `{pattern}`")
    try:
        compiled = _compiled(pattern, _MEMORY)
        return compiled if compiled.size <= _SMALL else None
    except PatternError as error:
        return None if error.size else error


@functools.lru_cache(maxsize=4)
def _large(pattern: str) -> Regexp | PatternError:
    try:
        return _compiled(pattern, _MORE_MEMORY)
    except PatternError as error:
        return error


def _compiled(pattern: str, memory: int) -> Regexp:
    import re2  # not above: the command line starts without it

    options = re2.Options()
    options.max_mem, options.log_errors, options.never_capture = memory, False, True
    try:
        compiled = re2.compile(_encoded(pattern), options)
    except re2.error as error:
        raise _go_error(pattern, error.args[0]) from None
    finally:
        re2.purge()  # the library's own cache would keep 128 expressions of any size
    _reject_syntax_of_re2(pattern)
    return Regexp(compiled)


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _go_error(pattern: str, error: bytes | str) -> PatternError:
    text = error.decode(errors="replace") if isinstance(error, bytes) else error
    if text.startswith("pattern too large"):
        return PatternError(f"{_TOO_LARGE}: `{pattern}`", _FAILED_SIZE)
    what, _, where = text.partition(": ")
    if _LOOKBEHIND.fullmatch(where):  # to Go, a group whose name begins with = or !
        group = pattern[pattern.index(where) :]
        end = group.find(">") + 1
        return PatternError(f"invalid named capture: `{group[:end] if end else group}`")
    if what == "invalid repetition size":
        where = where.removesuffix("?")
    return PatternError(f"{_GO_MESSAGES.get(what, what)}: `{where}`")


def _reject_syntax_of_re2(pattern: str) -> None:
    r"""Go has no \C, and names of groups are ASCII."""
    if "\\C" not in pattern and (pattern.isascii() or "<" not in pattern):
        return
    for token in _TOKEN.finditer(pattern):
        if token["escape"] == "C":
            raise PatternError(r"invalid escape sequence: `\C`")
        if token["name"] is not None and not token["name"].isascii():
            raise PatternError(f"invalid named capture: `{token['group']}`")
