"""docs/security.md: every row names a test that exists, and SECURITY.md links to files that exist."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs/security.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if line.startswith("|")
    ]
    return [row for row in cells if row[0] not in ("Promise", "---")]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[1])
def test_every_promise_has_an_attack_and_a_test_that_exists(row: list[str]) -> None:
    promise, attack, test = row
    assert promise
    assert attack
    named = TEST.fullmatch(test)
    assert named, f"{test} is not the id of a test"
    assert f"def {named[2]}(" in (ROOT / named[1]).read_text()


def test_every_attack_on_a_whole_cluster_is_listed() -> None:
    listed = {row[2].strip("`") for row in rows()}
    files = sorted((ROOT / "tests/hostile").glob("test_*.py"))
    ids = [f"{path.relative_to(ROOT)}::{name}" for path in files for name in re.findall(r"def (test_\w+)\(", path.read_text())]
    assert not [each for each in ids if each not in listed]


def test_every_link_of_the_page_for_reporters_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "SECURITY.md").read_text())
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]
