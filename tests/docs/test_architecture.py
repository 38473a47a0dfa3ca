"""docs/architecture.md names real files."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ("docs/architecture.md", "CONTRIBUTING.md")
SUFFIXES = ("py", "md", "svg", "toml", "yaml")
PATH = re.compile(r"`([\w.*/-]+(?:/|\.(?:" + "|".join(SUFFIXES) + r")))`")


def paths(page: str) -> list[str]:
    return [path for path in PATH.findall((ROOT / page).read_text()) if "/" in path]


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_the_page_names_exists(page: str) -> None:
    bases = (ROOT, ROOT / "src" / "traincrew")
    missing = [path for path in paths(page) if not any(any(base.glob(path.rstrip("/"))) for base in bases)]
    assert not missing
