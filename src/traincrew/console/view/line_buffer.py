"""Lines that wait to be sent to a page, at most so many."""

from __future__ import annotations

import collections
from typing import NamedTuple

from traincrew.console.contract.logs import LogLine
from traincrew.console.view import log_lines

MAX_LINES, MAX_CHARACTERS = 50_000, 32_000_000
"""What waits for a page that reads slowly. The oldest lines are dropped first."""
MESSAGE_LINES, MESSAGE_CHARACTERS = 2000, 1_000_000


class Taken(NamedTuple):
    lines: list[LogLine]
    skipped: int


class LineBuffer:
    def __init__(self) -> None:
        self._lines: collections.deque[LogLine] = collections.deque()
        self._characters = 0
        self._skipped = 0

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: LogLine) -> None:
        self._lines.append(line)
        self._characters += len(line.text)
        while len(self._lines) > MAX_LINES or self._characters > MAX_CHARACTERS:
            self._characters -= len(self._lines.popleft().text)
            self._skipped += 1

    def sort(self) -> None:
        """Merge by time what has arrived from all replicas."""
        self._lines = collections.deque(log_lines.in_order(self._lines))

    def take(self) -> Taken:
        """The first lines, as many as a message may have."""
        lines, characters = list[LogLine](), 0
        while self._lines and len(lines) < MESSAGE_LINES and (not lines or characters < MESSAGE_CHARACTERS):
            lines.append(self._lines.popleft())
            characters += len(lines[-1].text)
        self._characters -= characters
        skipped, self._skipped = self._skipped, 0
        return Taken(lines, skipped)
