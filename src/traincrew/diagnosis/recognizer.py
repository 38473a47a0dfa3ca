"""A recognizer: one known fault, by the text that it leaves, with its remedy."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Literal

Significance = Literal["cause", "report", "consequence"]
"""cause: the fault itself. report: a launcher says that a process failed. consequence: another replica failed before."""
Place = Literal["exception", "line"]
MAX_CHARACTERS = 262_144
"""Of a text that are searched. Those who read logs have limits of their own, which are not known here."""


@dataclasses.dataclass(frozen=True)
class Recognizer:
    name: str
    """Such as `missing-module`. Cases under tests/diagnosis/cases name it."""
    pattern: str
    """Regular expression. `^` and `$` match at the ends of lines, and a blank matches any white space.

    The evidence begins at the group `message`, if there is one, else at the beginning of the match.
    """
    advice: str = ""
    """What to do, in the imperative. `{name}` stands for the group of that name in the pattern."""
    cause: str = ""
    """One line about the fault, with groups as in `advice`. Empty: the exception, or the line that matches."""
    place: Place = "line"
    """exception: searched in Python exceptions. line: searched in all other lines of the output."""
    significance: Significance = "cause"
    evidence_lines: int = 1
    """Lines of evidence, from the first line that matches."""
    before_exceptions: bool = False
    """Stronger evidence than a Python exception in the same output."""

    def search(self, text: str) -> re.Match[str] | None:
        """In the end of the text: a replica may print any amount, and failed last."""
        if mandatory_text(self.pattern) not in text:
            return None
        pattern = re.compile(self.pattern.replace(" ", r"\s+"), re.MULTILINE)
        return pattern.search(text, max(0, len(text) - MAX_CHARACTERS))


@dataclasses.dataclass(frozen=True)
class RecognizedFault:
    """A recognized fault in the output of one replica."""

    recognizer: str
    cause: str
    evidence: tuple[str, ...] = ()
    advice: str = ""
    significance: Significance = "cause"
    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The groups of the pattern, such as the name of a missing module."""
    rank: int | None = None
    """The rank in the output of a launcher."""
    line: int = 0


_ATOMS = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|.", re.DOTALL)
_LITERAL = re.compile(r"[A-Za-z0-9_:,'\"=/<>!-]")


@functools.cache
def mandatory_text(pattern: str) -> str:
    """A text without which the pattern does not match; empty if it has none. To compile all patterns takes a tenth of `why`.

    It is the longest run of plain characters outside of groups. A quantifier makes the character before it optional.
    """
    runs, depth = [""], 0
    for atom in _ATOMS.findall(pattern):
        if (atom == "|" and depth == 0) or "(?i" in pattern:
            return ""
        if atom in ("?", "*", "{"):
            runs[-1] = runs[-1][:-1]
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(atom, 0)
        if depth == 0 and _LITERAL.fullmatch(atom):
            runs[-1] += atom
        else:
            runs.append("")
    return max(runs, key=len)
