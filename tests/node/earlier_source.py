"""Files of earlier commits, for tests of upgrades."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator

import pytest
from tests.node.local_cluster import SOURCE


@contextlib.contextmanager
def unpacked(commit: str, *paths: str, parent: str = "/var/tmp") -> Iterator[pathlib.Path]:  # noqa: S108 -- for a directory of its own
    """A directory below `parent` with these paths of the commit, readable by every user."""
    archive = subprocess.run(["git", "archive", commit, *paths], cwd=SOURCE, capture_output=True, check=False)
    if archive.returncode:
        pytest.fail(
            f"commit {commit} is not in this clone: {archive.stderr.decode().strip()}. "
            "The test needs the history: run `git fetch --unshallow`."
        )
    with tempfile.TemporaryDirectory(prefix="traincrew-previous-", dir=parent) as directory:
        pathlib.Path(directory).chmod(0o755)
        subprocess.run(["tar", "--extract", "--no-same-owner", "--directory", directory], input=archive.stdout, check=True)
        yield pathlib.Path(directory)
