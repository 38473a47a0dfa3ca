"""The commands that a page of the documentation shows."""

from __future__ import annotations

import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+#\s.*")
_ROW = re.compile(r"^\| [^|]+ \| (`traincrew [^|]+) \|$", re.MULTILINE)
"""A row of a table of tasks: what to do, and the commands that do it."""


class DocumentedCommand(NamedTuple):
    page: str
    text: str


def read(page: str) -> list[DocumentedCommand]:
    """The lines of fenced blocks without their comments, and the commands of tables of tasks, each once."""
    source = (ROOT / page).read_text()
    lines = [_COMMENT.sub("", line) for block in _FENCE.findall(source) for line in block.splitlines()]
    rows = [command for row in _ROW.findall(source) for command in re.findall(r"`([^`]+)`", row)]
    return [DocumentedCommand(page, text) for text in dict.fromkeys([*rows, *lines]) if text.strip()]
