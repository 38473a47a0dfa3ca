"""The recording of the first steps: a real shell is captured, and a capture is drawn the same way each time."""

from __future__ import annotations

import os
import pathlib
import re
import xml.etree.ElementTree as ET

import pytest
from tools.recording import __main__ as recording
from tools.recording import capture, cast, svg
from tools.recording.cast import Output
from tools.recording.screen import Screen


def shown(text: str, width: int = 20, height: int = 3) -> list[str]:
    screen = Screen(width, height)
    screen.feed(text)
    return ["".join(cell.text for cell in row).rstrip() for row in screen.rows()]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a\r\nb", ["a", "b", ""]),
        ("1\r\n2\r\n3\r\n4", ["2", "3", "4"]),
        ("waits\r\x1b[Kdone", ["done", "", ""]),
        ("ab\b\x1b[Kc", ["ac", "", ""]),
        ("x" * 21, ["x" * 20, "x", ""]),
        ("old\r\nold\x1b[H\x1b[Jnew", ["new", "", ""]),
        ("\x1b]0;title\x07a\x1b[?25lb", ["ab", "", ""]),
    ],
    ids=["lines", "scrolls", "erases", "backspace", "wraps", "page", "invisible"],
)
def test_the_screen_shows_what_a_terminal_would(text: str, rows: list[str]) -> None:
    assert shown(text) == rows


def test_colours_end_where_they_are_reset() -> None:
    screen = Screen(4, 1)
    screen.feed("\x1b[36ma\x1b[0mb\x1b[91mc")
    assert [cell.colour for cell in screen.rows()[0]] == [36, 0, 91, 0]


def test_long_pauses_are_shortened_and_short_ones_are_kept() -> None:
    outputs = [Output(0.5, "a"), Output(60.5, "b"), Output(60.75, "c")]
    assert [each.seconds for each in cast.with_shorter_pauses(outputs, 2.0)] == [0.5, 2.5, 2.75]


def test_a_real_shell_is_captured(tmp_path: pathlib.Path) -> None:
    outputs = capture.capture(["echo one two", "pwd"], (60, 10), str(tmp_path), {"PATH": os.environ["PATH"]})
    screen = Screen(200, 10)
    for each in outputs:
        screen.feed(each.text)
    rows = ["".join(cell.text for cell in row).rstrip() for row in screen.rows()]
    assert [row for row in rows if row] == ["$ echo one two", "one two", "$ pwd", str(tmp_path), "$"]


def test_the_picture_is_that_of_the_capture_and_follows_the_mode_of_the_reader() -> None:
    drawn = svg.draw(cast.load(recording.CAPTURE.read_text()))
    assert drawn == recording.PICTURE.read_text()
    assert drawn == svg.draw(cast.load(cast.dump(cast.load(recording.CAPTURE.read_text()))))
    assert "prefers-color-scheme:dark" in drawn
    root = ET.fromstring(drawn)
    names = {each.get("id") for each in root.iter("{http://www.w3.org/2000/svg}g")}
    uses = [each.get("href", "") for each in root.iter("{http://www.w3.org/2000/svg}use")]
    assert uses
    assert {each.removeprefix("#") for each in uses} <= names


def test_the_capture_is_that_of_the_commands() -> None:
    text = "".join(each.text for each in cast.load(recording.CAPTURE.read_text()).outputs)
    typed = " ".join(re.sub(r"\x1b\][^\x07]*\x07|\s*\r\n?|\x1b\[[?\d;]*[A-Za-z]", "", text).split())
    for command in recording.COMMANDS.read_text().splitlines():
        assert command in typed, command
