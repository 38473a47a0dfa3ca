"""Exception groups of Python 3.11, such as a TaskGroup raises: the first exception of a group explains it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from traincrew.diagnosis.rank_streams import OutputLine

_GROUP = re.compile(r"^\s*\+ Exception Group Traceback \(most recent call last\):\s*$")
_MARGIN = re.compile(r"^\s*[|+] ?")
_NUMBER = re.compile(r"^\s*\+[-+]+ (?P<number>\d+|\.\.\.) -+$")
_HEADER = re.compile(r"^(?P<indent>\s*)(?:Exception Group )?(?P<traceback>Traceback \(most recent call last\):\s*)$")


def without_margins(lines: Sequence[OutputLine]) -> list[OutputLine]:
    """The lines as if the first exception of each group, and of its inner groups, had been printed alone."""
    return list(_flat(lines)) if any(_GROUP.match(line.text) for line in lines) else list(lines)


def _flat(lines: Sequence[OutputLine]) -> Iterator[OutputLine]:
    inside = first = False
    for line in lines:
        if _GROUP.match(line.text):
            inside = first = True
        elif inside and not _MARGIN.match(line.text):
            inside = False
        if not inside:
            yield line
        elif number := _NUMBER.match(line.text):
            first = first and number["number"] == "1"
        elif first:
            yield dataclasses.replace(line, text=_without_margin(line.text))


def _without_margin(text: str) -> str:
    bare = _MARGIN.sub("", text)
    header = _HEADER.match(bare)
    if header is None:
        return bare
    # The traceback of a member belongs to the message of its group, as that of a subprocess belongs to its report.
    word = "" if _GROUP.match(text) else "Original "
    return f"{header['indent']}{word}{header['traceback']}"
