"""The screen of a terminal: what is visible after some output. Only the control sequences that our commands and bash use."""

from __future__ import annotations

import re
from typing import NamedTuple

_SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>78]")


class Cell(NamedTuple):
    text: str = " "
    colour: int = 0
    """SGR code of the colour, such as 36. 0: none."""


Row = tuple[Cell, ...]


class Screen:
    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._rows = [[Cell()] * width for _ in range(height)]
        self._row = self._column = 0
        self._colour = 0

    def rows(self) -> tuple[Row, ...]:
        return tuple(tuple(row) for row in self._rows)

    def feed(self, text: str) -> None:
        position = 0
        for match in _SEQUENCE.finditer(text):
            self._write(text[position : match.start()])
            if match[2]:
                self._control(match[1], match[2])
            position = match.end()
        self._write(text[position:])

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\n":
                self._line_feed()
            elif character == "\r":
                self._column = 0
            elif character == "\b":
                self._column = max(self._column - 1, 0)
            elif character == "\t":
                self._column = min((self._column // 8 + 1) * 8, self.width - 1)
            elif character >= " ":
                self._put(character)

    def _put(self, character: str) -> None:
        if self._column == self.width:
            self._column = 0
            self._line_feed()
        self._rows[self._row][self._column] = Cell(character, self._colour)
        self._column += 1

    def _line_feed(self) -> None:
        if self._row < self.height - 1:
            self._row += 1
            return
        del self._rows[0]
        self._rows.append([Cell()] * self.width)

    def _control(self, arguments: str, command: str) -> None:
        if command == "m":
            self._set_colour(arguments)
        elif command == "K":
            self._erase(self._row, min(self._column, self.width))
        elif command == "J":
            first = 0 if arguments in ("2", "3") else self._row
            for row in range(first, self.height):
                self._erase(row, self._column if row == self._row and arguments not in ("2", "3") else 0)
        elif command == "H":
            self._row = self._column = 0

    def _erase(self, row: int, column: int) -> None:
        self._rows[row][column:] = [Cell()] * (self.width - column)

    def _set_colour(self, arguments: str) -> None:
        for code in (int(each or 0) for each in arguments.split(";")):
            if code in (0, 39):
                self._colour = 0
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self._colour = code
