"""Draws a captured session as an animated SVG. The same capture gives the same picture.

The frames lie side by side on a film, which moves behind a window. Equal lines are drawn once. The colours follow the reader's
light or dark mode. With reduced motion, and where animations do not run, the last frame is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

from tools.recording.cast import Cast
from tools.recording.screen import Row, Screen

SHORTEST_FRAME = 0.08
"""Seconds. Output that follows sooner belongs to the same frame."""
LAST_FRAME = 8.0
"""Seconds for which the end is shown before the animation starts again."""
_ADVANCE, _LINE, _MARGIN = 8.4, 19, 14
_LIGHT = {31: "#cf222e", 32: "#116329", 33: "#7d4e00", 34: "#0969da", 35: "#8250df", 36: "#1b7c83"}
_DARK = {31: "#ff7b72", 32: "#3fb950", 33: "#d29922", 34: "#58a6ff", 35: "#bc8cff", 36: "#39c5cf"}


class Frame(NamedTuple):
    seconds: float
    """When it appears."""
    rows: tuple[Row, ...]


def frames(cast: Cast) -> list[Frame]:
    screen, found = Screen(cast.width, cast.height), list[Frame]()
    for number, output in enumerate(cast.outputs):
        screen.feed(output.text)
        following = cast.outputs[number + 1].seconds if number + 1 < len(cast.outputs) else output.seconds + LAST_FRAME
        if following - output.seconds >= SHORTEST_FRAME and (not found or found[-1].rows != screen.rows()):
            found.append(Frame(output.seconds, screen.rows()))
    return found


def draw(cast: Cast) -> str:
    film = frames(cast)
    width, height = round(cast.width * _ADVANCE + 2 * _MARGIN), cast.height * _LINE + 2 * _MARGIN
    numbers: dict[Row, int] = {}
    strips = [_strip(frame, index * width, numbers) for index, frame in enumerate(film)]
    lines = [_line(number, row) for row, number in numbers.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
            "<title>The first five minutes with traincrew, captured from a terminal</title>",
            f"<style>{_style(film, width)}</style>",
            "<defs>",
            *lines,
            "</defs>",
            f'<rect class="back" width="{width}" height="{height}" rx="8"/>',
            f'<g class="film" transform="translate({-(len(film) - 1) * width} 0)">',
            *strips,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _strip(frame: Frame, left: int, numbers: dict[Row, int]) -> str:
    uses = []
    for index, row in enumerate(frame.rows):
        if any(cell.text != " " for cell in row):
            number = numbers.setdefault(row, len(numbers))
            uses.append(f'<use href="#l{number}" x="{left + _MARGIN}" y="{_MARGIN + (index + 1) * _LINE - 5}"/>')
    return f"<g>{''.join(uses)}</g>"


def _line(number: int, row: Row) -> str:
    return f'<g id="l{number}">{"".join(_spans(row))}</g>'


def _spans(row: Row) -> Iterator[str]:
    """One text for each run of words of one colour. Its length is fixed, so that columns are aligned in every font."""
    for colour, run in groupby(enumerate(row), key=lambda entry: entry[1].colour):
        cells = list(run)
        style = f' class="c{colour - 60 if colour >= 90 else colour}"' if colour else ""
        # Several spaces would be drawn as one.
        for words in re.finditer(r"\S+(?: \S+)*", "".join(cell.text for _, cell in cells)):
            left = (cells[0][0] + words.start()) * _ADVANCE
            size = f'x="{left:.1f}" textLength="{len(words[0]) * _ADVANCE:.1f}" lengthAdjust="spacingAndGlyphs"'
            yield f"<text {size}{style}>{escape(words[0])}</text>"


def _style(film: Sequence[Frame], width: int) -> str:
    total = film[-1].seconds + LAST_FRAME
    stops = "".join(
        f"{frame.seconds / total:.4%}{{transform:translateX({-index * width}px)}}" for index, frame in enumerate(film)
    )
    first = "" if film[0].seconds == 0 else "0%{transform:translateX(0)}"
    light = "".join(f".c{code}{{fill:{colour}}}" for code, colour in _LIGHT.items())
    dark = "".join(f".c{code}{{fill:{colour}}}" for code, colour in _DARK.items())
    return (
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}"
        f".back{{fill:#f6f8fa;stroke:#d1d9e0}}{light}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#e6edf3}}.back{{fill:#0d1117;stroke:#3d444d}}{dark}}}"
        f"@keyframes film{{{first}{stops}100%{{transform:translateX({-(len(film) - 1) * width}px)}}}}"
        f".film{{animation:film {total:.2f}s step-end infinite}}"
        f"@media(prefers-reduced-motion:reduce){{.film{{animation:none}}}}"
    )
