"""Runs the tests as an ordinary user: in a user namespace, and without namespaces."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator

import pytest
from tests import interpreters

USER = 61_234
HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
TESTS = ("containers", "exec", "attach", "exec_socket", "logs", "start_errors", "namespaces", "hostile_containers")


@pytest.fixture
def directory() -> Iterator[pathlib.Path]:
    """Outside the temporary directory of root, which other users cannot enter."""
    with tempfile.TemporaryDirectory() as path:
        os.chown(path, USER, USER)
        yield pathlib.Path(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests already run as an ordinary user")
@pytest.mark.parametrize("name", TESTS)
def test_the_tests_pass_for_an_ordinary_user(name: str, directory: pathlib.Path) -> None:
    command = [interpreters.for_user(USER), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={directory}/tests"]
    done = subprocess.run(
        [*command, str(HERE / f"test_{name}.py")],
        cwd=ROOT,
        user=USER,
        group=USER,
        extra_groups=[],
        env={"PATH": "/usr/bin:/bin", "HOME": str(directory), "PYTHONPATH": _path(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def _path() -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "src"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
