"""The check of private words."""

from __future__ import annotations

import pytest

from tools import private_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def _told(x): ...", ["told"]),
        ("class CrewMember:", ["crew"]),
        ("TOLD_OBJECTS = 1\ndoors", ["told", "doors"]),
        ("traincrew, TRAINCREW_DATA, outdoors, holderIdentity", []),
    ],
)
def test_words_are_found_also_within_identifiers(text: str, words: list[str]) -> None:
    assert [word for _, word in private_words.find(text)] == words


def test_the_repository_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert private_words.main() == 0, capsys.readouterr().out


def test_every_exception_is_needed() -> None:
    for name in private_words.ALLOWED:
        assert list(private_words.find((private_words.ROOT / name).read_text())), name
