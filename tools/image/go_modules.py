"""The modules that a Go program was built from, read from the program itself: `go version -m` without a Go tool."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_MAGIC, _HEADER, _INLINE = b"\xff Go buildinf:", 32, 2
_FENCE = 16
"""Bytes before and after the text with the modules."""


class GoProgram(NamedTuple):
    go: str
    """Version of Go, such as `1.26`."""
    main: tuple[str, str]
    """Module and version of the program."""
    modules: list[tuple[str, str]]


def read(program: Path) -> GoProgram:
    """Raises ValueError if it is not a program that Go 1.18 or later has built."""
    data = program.read_bytes()
    start = data.find(_MAGIC)
    while start >= 0 and not data[start + 15] & _INLINE:
        start = data.find(_MAGIC, start + 1)
    if start < 0:
        raise ValueError(f"{program} has no build information of Go")
    version, rest = _string(data, start + _HEADER)
    text, _ = _string(data, rest)
    lines = [line.split("\t") for line in text[_FENCE:-_FENCE].decode().splitlines()]
    return GoProgram(version.decode().removeprefix("go"), _main(lines), _dependencies(lines))


def _main(lines: list[list[str]]) -> tuple[str, str]:
    return next((words[1], words[2]) for words in lines if words[0] == "mod")


def _dependencies(lines: list[list[str]]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for words in lines:
        if words[0] == "dep":
            found.append((words[1], words[2]))
        elif words[0] == "=>":
            found[-1] = (words[1], words[2])
    return found


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    """A string with its length before it, and where it ends."""
    size, shift = 0, 0
    while True:
        byte, at = data[at], at + 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return data[at : at + size], at + size
