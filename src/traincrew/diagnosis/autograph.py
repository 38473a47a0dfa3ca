"""Exceptions inside of a tf.function: TensorFlow appends those frames of the user's program that it translated to a graph."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from traincrew.diagnosis.rank_streams import OutputLine

_HEAD = re.compile(r"^(?P<indent>\s*)[A-Za-z_][\w.]*: in user code:\s*$")
_FRAME = re.compile(r'^(?P<indent>\s*)(?P<frame>File "[^"]+", line \d+, in .+?)(?P<mark>  \*+)?\s*$')
DEPTH = 4
"""Blanks by which TensorFlow indents the translated frames and the message."""


def as_tracebacks(lines: Sequence[OutputLine]) -> list[OutputLine]:
    """The lines as if Python had printed the translated frames in place of those of the generated code."""
    return list(_flat(lines)) if any(_begins(line.text) is not None for line in lines) else list(lines)


def _begins(text: str) -> int | None:
    """The indentation of the exception that a line belongs to, if it is the first line of such a block or of its rest."""
    if head := _HEAD.match(text):
        return len(head["indent"])
    frame = _FRAME.match(text)
    return max(len(frame["indent"]) - DEPTH, 0) if frame and frame["mark"] else None


def _flat(lines: Sequence[OutputLine]) -> Iterator[OutputLine]:
    indent: int | None = None
    for line in lines:
        text = line.text
        if indent is None or (text.strip() and _indent(text) <= indent):
            indent = _begins(text)
        if indent is None:
            yield line
        elif head := _HEAD.match(text):
            indent = len(head["indent"])
        else:
            yield dataclasses.replace(line, text=_moved(text, indent))


def _moved(text: str, indent: int) -> str:
    """A frame where Python prints it below the head of a traceback, a message where Python prints that."""
    if frame := _FRAME.match(text):
        return f"{' ' * (indent + 2)}{frame['frame']}"
    return f"{' ' * indent}{text[indent + DEPTH :]}"


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
