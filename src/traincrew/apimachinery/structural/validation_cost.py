"""Limits of the work that one validation may cause.

The work of a validation is linear in the size of the value, except for what a schema multiplies: a list of alternatives, of
required fields or of allowed values for each of many items, and expressions with long programs. A schema and a value of a few
kilobytes each could otherwise take hours.
"""

from __future__ import annotations

from traincrew.apimachinery.structural import regular_expressions

MAX_VIOLATIONS = 1_000
MAX_STEPS = 50_000
"""Values that are compared with alternatives (anyOf, oneOf, allOf, not) and with allowed objects."""
MAX_INSTRUCTIONS = 100_000_000
"""Instructions of regular expressions, each five nanoseconds at most: a program of 1,000 with a text of 100 kB."""


class LimitExceeded(Exception):
    """The validation is incomplete. The message says why."""


class ValidationCost:
    """What a validation has cost so far."""

    __slots__ = ("instructions", "steps", "violations")

    def __init__(self) -> None:
        self.violations = self.steps = self.instructions = 0

    def add_violation(self) -> None:
        self.violations += 1
        if self.violations > MAX_VIOLATIONS:
            raise LimitExceeded(f"has more than {MAX_VIOLATIONS} errors")

    def add_steps(self, count: int) -> None:
        self.steps += count
        if self.steps > MAX_STEPS:
            raise LimitExceeded("cannot be validated: its schema has too many alternatives for its size")

    def matches(self, pattern: str, text: str) -> bool:
        """Whether the text contains a match. An invalid pattern, of a schema of an earlier version, matches nothing."""
        try:
            regexp = regular_expressions.compile_pattern(pattern)
        except regular_expressions.PatternError:
            return False
        self.instructions += regexp.size * len(text)
        if self.instructions > MAX_INSTRUCTIONS:
            raise LimitExceeded("cannot be validated: the patterns of its schema are too large for its size")
        return regexp.matches(text)
