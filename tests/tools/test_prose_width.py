"""Wrapping of prose: paragraphs and list items are wrapped, tables and code are not."""

from __future__ import annotations

import pathlib

import pytest

from tools import prose_width

WORDS = "word " * 40


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WORDS, id="a paragraph"),
        pytest.param(f"- {WORDS}\n- second", id="a list item"),
        pytest.param(f"1. {WORDS}", id="a numbered item"),
        pytest.param(f"- item\n  {WORDS}", id="the second line of an item"),
        pytest.param(f"- item\n    {WORDS}", id="a deeply indented line of an item"),
        pytest.param(f"> {WORDS}", id="a quotation"),
    ],
)
def test_long_prose_is_found_and_wrapped(text: str) -> None:
    assert prose_width.too_long(text)
    wrapped = prose_width.wrap(text)
    assert not prose_width.too_long(wrapped)
    assert wrapped.replace(">", "").split() == text.replace(">", "").split()
    assert prose_width.wrap(wrapped) == wrapped


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"| {WORDS} |", id="a table"),
        pytest.param(f"```\n{WORDS}\n```", id="a code block"),
        pytest.param(f"# {WORDS}", id="a heading"),
        pytest.param(f"    {WORDS}", id="indented code"),
        pytest.param(f"<img {WORDS}>", id="HTML"),
        pytest.param("x" * 120, id="a word that cannot be broken"),
        pytest.param("see [a page](https://example.com/" + "x" * 100 + ")", id="a link that cannot be broken"),
    ],
)
def test_tables_code_and_long_words_are_left_alone(text: str) -> None:
    assert not [number for number in prose_width.too_long(text) if number != 1 or not text.startswith("see")]
    if not text.startswith("see"):
        assert prose_width.wrap(text) == f"{text.rstrip(chr(10))}\n"


def test_items_stay_apart_and_keep_their_indent() -> None:
    text = f"- first {WORDS}\n- second\n\nA paragraph.\n"
    lines = prose_width.wrap(text).splitlines()
    assert lines[-4:] == ["  " + lines[-4].strip(), "- second", "", "A paragraph."]


def test_a_dash_does_not_become_a_list_item() -> None:
    text = ("word " * 19 + "words - and more ") * 2
    assert not any(line.startswith("- ") for line in prose_width.wrap(text).splitlines())


def test_a_code_span_is_not_broken() -> None:
    text = "word " * 18 + "`traincrew image set name directory` and more"
    assert "`traincrew image set name directory`" in prose_width.wrap(text)


def test_every_page_of_the_documentation_is_checked(tmp_path: pathlib.Path) -> None:
    pages = [tmp_path / name for name in ("README.md", "docs/page.md", "docs/seeds/000.md", "examples/job/README.md")]
    for page in (*pages, tmp_path / "docs/page.zh-CN.md"):
        page.parent.mkdir(parents=True, exist_ok=True)
        page.touch()
    assert prose_width.documents(tmp_path) == sorted(pages)
