"""Lines that wait to be sent to a page, at most so many."""

from __future__ import annotations

import collections
from typing import NamedTuple

from traincrew.console.contract.logs import LogLine
from traincrew.console.view import log_lines


class BufferLimits(NamedTuple):
    lines: int = 50_000
    """What waits for a page that reads slowly. The oldest lines are dropped first."""
    characters: int = 32_000_000
    message_lines: int = 2000
    message_characters: int = 1_000_000


LIMITS = BufferLimits()


class Taken(NamedTuple):
    lines: list[LogLine]
    skipped: int


class LineBuffer:
    def __init__(self, limits: BufferLimits = LIMITS) -> None:
        self._limits = limits
        self._lines: collections.deque[LogLine] = collections.deque()
        self._characters = 0
        self._skipped = 0

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def fills_a_message(self) -> bool:
        return len(self._lines) >= self._limits.message_lines or self._characters >= self._limits.message_characters

    def skip(self, lines: int) -> None:
        """Lines that were dropped before they came here."""
        self._skipped += lines

    def add(self, line: LogLine) -> None:
        self._lines.append(line)
        self._characters += len(line.text)
        while len(self._lines) > self._limits.lines or self._characters > self._limits.characters:
            self._characters -= len(self._lines.popleft().text)
            self._skipped += 1

    def sort(self) -> None:
        """Merge by time what has arrived from all replicas."""
        self._lines = collections.deque(log_lines.in_order(self._lines))

    def take(self) -> Taken:
        """The first lines, as many as a message may have."""
        lines, characters = list[LogLine](), 0
        limits = self._limits
        while self._lines and len(lines) < limits.message_lines and (not lines or characters < limits.message_characters):
            lines.append(self._lines.popleft())
            characters += len(lines[-1].text)
        self._characters -= characters
        skipped, self._skipped = self._skipped, 0
        return Taken(lines, skipped)
