"""The same for a user without rights: in a user namespace, and without any."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator

import pytest

USER = 61_234
HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
TESTS = ("containers", "exec", "attach", "exec_socket", "logs", "start_errors", "namespaces")


@pytest.fixture
def place() -> Iterator[pathlib.Path]:
    """Not below root's own directory for tests, which nobody else may enter."""
    with tempfile.TemporaryDirectory() as path:
        os.chown(path, USER, USER)
        yield pathlib.Path(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="this is already the ordinary user's turn")
@pytest.mark.parametrize("name", TESTS)
def test_an_ordinary_user_has_the_same(name: str, place: pathlib.Path) -> None:
    command = [_interpreter(), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={place}/tests"]
    done = subprocess.run(
        [*command, str(HERE / f"test_{name}.py")],
        cwd=ROOT,
        user=USER,
        group=USER,
        extra_groups=[],
        env={"PATH": "/usr/bin:/bin", "HOME": str(place), "PYTHONPATH": _path(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def _path() -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "src"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])


def _interpreter() -> str:
    """One that the user can run: ours may be in somebody's home."""
    for path in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with contextlib.suppress(OSError):
            subprocess.run([path, "-c", ""], user=USER, group=USER, extra_groups=[], check=True, cwd="/")
            return path
    pytest.fail("no interpreter of this version can be run by an ordinary user")
