"""Launchers mix the lines of all ranks, each with a prefix that names the rank. Here they are separated again."""

from __future__ import annotations

import dataclasses
import re

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1f\x7f]")
_PREFIXES = (
    re.compile(r"^\[rank(?P<rank>\d+)\]: ?(?!\[)"),  # PyTorch, exceptions of a process group
    re.compile(r"^\[default(?P<local>\d+)\]: ?"),  # torchrun --tee
    re.compile(r"^\[\d+,(?P<rank>\d+)\]<std(?:err|out|diag)>: ?"),  # mpirun --tag-output
    re.compile(r"^(?:\w{3} \w{3} +\d+ [\d:]+ \d{4})?\[(?P<rank>\d+)\]<std(?:err|out)>: ?"),  # horovodrun
)


@dataclasses.dataclass(frozen=True)
class OutputLine:
    number: int
    """Position in the whole output."""
    text: str


@dataclasses.dataclass(frozen=True)
class RankStream:
    rank: int | None
    """None: lines without a prefix."""
    lines: tuple[OutputLine, ...]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


def separate(output: str) -> list[RankStream]:
    """The lines of each rank without their prefixes; first the lines without a prefix."""
    ranks: dict[int | None, list[OutputLine]] = {None: []}
    for number, text in enumerate(_ESCAPES.sub("", output).splitlines()):
        rank, rest = _split(text)
        ranks.setdefault(rank, []).append(OutputLine(number, rest))
    return [RankStream(rank, tuple(lines)) for rank, lines in ranks.items() if lines]


def _split(text: str) -> tuple[int | None, str]:
    for prefix in _PREFIXES:
        if match := prefix.match(text):
            # mpirun repeats the prefix inside of a line that a program writes in parts.
            return int(next(iter(match.groupdict().values()))), text[match.end() :].replace(match[0], "")
    return None, text
