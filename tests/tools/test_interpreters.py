"""Tests that act as another user find an interpreter on every machine."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sysconfig

import pytest
from tests import interpreters

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
USER = 60_000


def test_another_user_runs_the_version_of_the_tests() -> None:
    program = interpreters.for_user(USER)
    done = subprocess.run([program, "-V"], user=USER, group=USER, extra_groups=[], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Python {interpreters.MINOR}.")


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_ENABLE_SHARED")), reason="this interpreter needs a library in its own place"
)
def test_a_copy_of_the_interpreter_finds_its_library() -> None:
    program = pathlib.Path(interpreters._copy())
    script = "import json, os; print(os.path.dirname(json.__file__))"
    done = subprocess.run([program, "-c", script], user=USER, group=USER, capture_output=True, text=True, check=True, cwd="/")
    assert pathlib.Path(done.stdout.strip()).is_relative_to(program.parents[1])
