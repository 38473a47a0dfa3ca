"""Checks that prose is wrapped at 100 columns, or wraps it: *.md at the root and below docs, README.md in examples and tools.

Usage: python -m tools.prose_width [--write]

Tables, code blocks, headings, HTML and words that cannot be broken are excepted, and so is Chinese text: a line break in it
would be shown as a blank.
"""

from __future__ import annotations

import pathlib
import re
import sys
import textwrap
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]
WIDTH = 100
_FENCE = re.compile(r"\s*(```|~~~)")
_UNWRAPPED = re.compile(r"\s*(\||#|<|\[[^\]]+\]: |    )")
"""Lines that are left alone: table rows, headings, HTML, link definitions, indented code."""
_ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])( +)")
_LIST_START = re.compile(r"(?:[-*+]|\d+[.)]|#{1,6}|>)$")
"""A word that would start a list item, a heading or a quotation if it came first on a line."""


def documents(root: pathlib.Path) -> list[pathlib.Path]:
    folders = [*(root / "examples").rglob("README.md"), *(root / "tools").rglob("README.md")]
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *folders]
    return sorted(path for path in found if not path.name.endswith(".zh-CN.md"))


def too_long(text: str) -> list[int]:
    """Numbers of the lines of prose that are longer than they need to be."""
    return [
        number
        for number, line, prose in _lines(text)
        if prose and len(line) > WIDTH and len(line) > max(len(part) for part in _wrapped([line]))
    ]


def wrap(text: str) -> str:
    """The text with every paragraph and list item that has a line too long wrapped anew."""
    result: list[str] = []
    block: list[str] = []
    for _, line, prose in _lines(text):
        starts = not prose or not line.strip() or _ITEM.match(line) is not None or line.lstrip().startswith(">")
        if starts and block:
            result += _rewrapped(block)
            block = []
        if prose and line.strip():
            block.append(line)
        else:
            result.append(line)
    result += _rewrapped(block) if block else []
    return "\n".join(result) + "\n"


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Number, line, whether it is prose."""
    fenced = False
    in_item = False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
            yield number, line, False
            continue
        in_item = bool(_ITEM.match(line)) or (in_item and bool(line.strip()))
        code = fenced or (_UNWRAPPED.match(line) is not None and not (in_item and line.startswith("    ")))
        yield number, line, not code


def _rewrapped(block: list[str]) -> list[str]:
    return _wrapped(block) if any(len(line) > WIDTH for line in block) else block


def _wrapped(block: list[str]) -> list[str]:
    item = _ITEM.match(block[0])
    first = item.group() if item else re.match(r"\s*(> )?", block[0])[0]  # type: ignore[index] # the pattern matches any line
    rest = " " * len(first) if item else first
    words = " ".join(line.strip().removeprefix("> ") if not item else line.strip() for line in block)
    words = words[len(first.strip()) :].strip() if item else words.strip()
    # A code span or a link stays on one line if it fits: its blanks are not places to break.
    kept = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", lambda found: found[0].replace(" ", "\0"), words)
    lines = textwrap.wrap(
        kept, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in _without_accidental_items(lines, rest)]


def _without_accidental_items(lines: list[str], indent: str) -> list[str]:
    """A word such as "-" or "2." goes to the end of the previous line, where it starts no list."""
    for number in range(1, len(lines)):
        word, _, remainder = lines[number][len(indent) :].partition(" ")
        if _LIST_START.match(word) and remainder:
            lines[number - 1] += f" {word}"
            lines[number] = indent + remainder
    return lines


def main() -> None:
    wrong = 0
    for path in documents(ROOT):
        text = path.read_text()
        if "--write" in sys.argv[1:]:
            path.write_text(wrap(text))
            continue
        for number in too_long(text):
            wrong += 1
            print(f"{path.relative_to(ROOT)}:{number}: longer than {WIDTH} columns", file=sys.stderr)
    if wrong:
        sys.exit("Run `python -m tools.prose_width --write`.")


if __name__ == "__main__":
    main()
