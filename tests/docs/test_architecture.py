"""docs/architecture.md, CONTRIBUTING.md and the diagrams name real files; the glossary is short."""

from __future__ import annotations

import pathlib
import re

import pytest

from tools import diagrams

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "traincrew"
PAGES = ("docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md")
PATH = re.compile(r"`([\w.-]+/[\w./-]*)`")
"""A path in backquotes: it has a slash and neither blanks nor placeholders."""
LINK = re.compile(r"\]\(([^)#:]+)\)")
MAX_WORDS = 40


def exists(path: str) -> bool:
    return (ROOT / path).exists() or (SOURCE / path).exists()


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page: str) -> None:
    paths = [path for path in PATH.findall((ROOT / page).read_text()) if path != "batch/v1" and not path.startswith("nvidia.com")]
    assert not [path for path in paths if not exists(path)]


def table() -> list[str]:
    """The rows of "Where do I change …"."""
    _, _, section = (ROOT / "docs/architecture.md").read_text().partition("## Where do I change …\n")
    return [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| ")][1:]


def test_every_file_that_the_table_names_without_a_directory_exists() -> None:
    names = {name for row in table() for name in re.findall(r"`(\w[\w.]*\.(?:py|tsx?|yaml|json|tpl|html))`", row)}
    parts = (SOURCE, ROOT / "charts", ROOT / "web" / "src")
    assert names
    assert not [name for name in names if not any(any(part.rglob(name)) for part in parts)]


def test_every_name_that_the_table_finds_in_a_file_is_there() -> None:
    found = [each for row in table() for each in re.findall(r"`(\w+)` in `([\w./-]+\.\w+)`", row)]
    files = [(name, next(base / path for base in (SOURCE, ROOT) if (base / path).exists())) for name, path in found]
    assert len(files) > 5
    assert not [(name, str(path)) for name, path in files if not re.search(rf"\b{name}\b", path.read_text())]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file(page: str) -> None:
    path = ROOT / page
    assert not [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()]


def test_the_page_of_the_architecture_follows_a_job_through_many_files() -> None:
    assert len(PATH.findall((ROOT / "docs/architecture.md").read_text())) > 80


def test_every_path_of_the_diagrams_exists() -> None:
    paths = [path for _, names, _, _ in diagrams.STEPS for path in names.split(", ")]
    assert not [path for path in paths if not exists(path)]


def test_the_diagram_of_a_job_has_the_steps_of_the_page() -> None:
    _, _, section = (ROOT / "docs/architecture.md").read_text().partition("## The path of a job\n")
    numbers = re.findall(r"^(\d+)\. ", section.partition("\n## ")[0], re.MULTILINE)
    assert [title.split()[0] for title, *_ in diagrams.STEPS] == numbers


def test_the_glossary_has_at_most_forty_words_of_one_line() -> None:
    rows = [line for line in (ROOT / "docs/glossary.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert 20 < len(rows) <= MAX_WORDS
    words = [row.split(" | ")[0].removeprefix("| ").lower() for row in rows]
    assert words == sorted(words)
