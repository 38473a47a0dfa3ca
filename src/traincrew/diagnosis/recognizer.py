"""A recognizer: one known fault, by the text that it leaves, with its remedy."""

from __future__ import annotations

import collections
import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from traincrew.diagnosis.readable_lines import shortened

Significance = Literal["cause", "report", "consequence"]
"""cause: the fault itself. report: a launcher says that a process failed. consequence: another replica failed before."""
Place = Literal["exception", "line"]
PLACES: tuple[Place, ...] = ("exception", "line")
EVIDENCE_LINES = 8
MAX_CHARACTERS = 262_144
"""Of a text that are searched. Those who read logs have limits of their own, which are not known here."""


@dataclasses.dataclass(frozen=True)
class FatalIf:
    """What shows that a fault ended the program, which may have gone on after it. Else it must be at the end of the output."""

    exit_codes: tuple[int, ...] = ()
    """Of the container, or in the report of a launcher."""
    exceptions: str = ""
    """Regular expression: exceptions that the fault causes. Any other exception shows that the program has survived it."""
    lines_after: int = 0
    """Lines of output that may follow at the end."""


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
    """exception: searched in exceptions of Python and C++. line: searched in all lines of the output."""
    significance: Significance = "cause"
    evidence_lines: int = 1
    """Lines of evidence, from the first line that matches."""
    before_exceptions: bool = False
    """Stronger evidence than a Python exception in the same output."""
    fatal_if: FatalIf | None = None
    """None: the fault ends the program. Else the last match counts, not the first."""

    def search(self, text: str) -> re.Match[str] | None:
        """In the end of the text: a replica may print any amount, and failed last."""
        if mandatory_text(self.pattern) not in text:
            return None
        pattern, start = re.compile(self.pattern.replace(" ", r"\s+"), re.MULTILINE), max(0, len(text) - MAX_CHARACTERS)
        if self.fatal_if is None:
            return pattern.search(text, start)
        return next(iter(collections.deque(pattern.finditer(text, start), maxlen=1)), None)


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
    """Number of the first line of its evidence."""
    last_line: int = 0
    """Number of the last line of the text that matches, if it was found in lines."""


def recognized_fault(
    recognizer: Recognizer, groups: dict[str, str | None], text: str, evidence: Sequence[str], place: tuple[int | None, int]
) -> RecognizedFault:
    """place: the rank, and the number of the first line."""
    details = {name: " ".join(value.split()) for name, value in groups.items() if value is not None}
    known = {name: details.get(name, "") for name in groups}
    cause = " ".join(recognizer.cause.format(**known).split()) if recognizer.cause else text
    advice = recognizer.advice.format(**known) if recognizer.advice else ""
    lines = tuple(evidence[:EVIDENCE_LINES])
    return RecognizedFault(recognizer.name, shortened(cause), lines, advice, recognizer.significance, details, *place)


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
