"""Text that a terminal shows and does not obey."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincrew.apimachinery.terminal_text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x07b", "a^Gb", id="bell"),
        pytest.param("\x1b]0;title\x07", "^[]0;title^G", id="escape sequence"),
        pytest.param("\x9b31m", "<U+009B>31m", id="escape sequence of one character"),
        pytest.param("100%\rOK", "100%^MOK", id="carriage return"),
        pytest.param("ab\x08c\x7f", "ab^Hc^?", id="backspace and delete"),
        pytest.param("\u202egnp.exe", "<U+202E>gnp.exe", id="right to left"),
        pytest.param("a\u200bb\u2066c\U000e0041", "a<U+200B>b<U+2066>c<U+E0041>", id="invisible"),
        pytest.param("\ud800", "<U+D800>", id="half of a pair"),
        pytest.param("line\n\tläuft 日本 🚀", "line\n\tläuft 日本 🚀", id="ordinary text"),
    ],
)
def test_control_characters_are_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(codec=None)))
def test_no_text_contains_a_character_that_a_terminal_obeys(text: str) -> None:
    categories = {unicodedata.category(character) for character in printable(text) if character not in "\n\t"}
    assert not categories & {"Cc", "Cs", "Zl", "Zp"}
    printable(text).encode()
