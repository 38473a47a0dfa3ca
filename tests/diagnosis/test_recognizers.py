"""The text that a pattern needs is in every text that it matches."""

from __future__ import annotations

import pathlib
import re

import pytest
from tests.diagnosis import case_files
from tests.diagnosis.test_cases import EVERY_CASE

from traincrew.diagnosis import recognizer
from traincrew.diagnosis.recognizers import RECOGNIZERS


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("no groups here", "groups"),
        ("colou?r is", "colo"),
        ("(?:only|groups)", ""),
        ("this|that", ""),
        ("a (?P<x>word) longer", "longer"),
        (r"^\S*python[\d.]*: can't open file '(?P<file>[^']+)'", "python"),
        (r"x\.yz(?: or)? abc*", "yz"),
        ("bbb{20000}a", "bb"),
        ("(?i)any case", ""),
        ("some+ more", "some"),
    ],
)
def test_the_longest_plain_text_outside_of_groups_is_needed(pattern: str, text: str) -> None:
    assert recognizer.mandatory_text(pattern) == text


@pytest.mark.parametrize("path", EVERY_CASE)
def test_no_match_is_lost(path: pathlib.Path) -> None:
    for end in case_files.load(path).ends:
        for each in RECOGNIZERS:
            if re.search(each.pattern.replace(" ", r"\s+"), end.output, re.MULTILINE):
                assert recognizer.mandatory_text(each.pattern) in end.output
