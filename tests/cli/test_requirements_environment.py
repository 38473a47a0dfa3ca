"""The environment of --requirements: what an interrupted build has left."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

from traincrew import errors
from traincrew.cli.jobs import requirements_environment
from traincrew.cli.jobs.python_environment import PythonEnvironment
from traincrew.embedded.file_trees import removal

DEPTH = 2_000


def test_what_an_interrupted_build_has_left_is_removed_however_deep(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINCREW_CACHE", str(tmp_path / "cache"))
    base = PythonEnvironment(sys.prefix, sys.executable, "3", "the environment", sys.base_prefix)
    file = tmp_path / "bad.txt"
    file.write_text("/nonexistent/package.whl\n")
    left = tmp_path / "cache/environments" / f"bad-{requirements_environment.digest(file, base)}"
    left.mkdir(parents=True)
    top = os.open(left, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("deep", dir_fd=top)
        inner = os.open("deep", os.O_RDONLY, dir_fd=top)
        os.close(top)
        top = inner
    os.close(top)
    try:
        with pytest.raises(errors.SettingsError, match="Correct the file"):
            requirements_environment.build(str(file), base, lambda line: None)
        assert not (left / "deep").exists()
    finally:
        removal.remove_tree(left)
