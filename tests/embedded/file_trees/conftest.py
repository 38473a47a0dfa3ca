"""A directory for hostile trees. It is removed after the test: pytest itself could not remove it."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator

import pytest

from traincrew.embedded.file_trees import removal


@pytest.fixture
def place() -> Iterator[pathlib.Path]:
    """Its parents can be entered by other users, unlike those of `tmp_path`."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="traincrew-trees-", dir="/var/tmp"))
    yield path
    removal.remove_tree(path)
