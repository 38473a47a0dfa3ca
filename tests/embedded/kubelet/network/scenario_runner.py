"""Runs scenarios as tests, on machines that support them."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator

import pytest
from tests import interpreters
from tests.embedded.kubelet.network.network_harness import ORDINARY_UID, ROOT

LEVELS = ("root", "user")
_PATH = os.pathsep.join((str(ROOT), str(ROOT / "src"), sysconfig.get_path("purelib")))
"""The last entry is for pytest, which another interpreter may lack."""


def _userns_error() -> str:
    """Why user namespaces cannot be created; empty if they can."""
    done = subprocess.run(["unshare", "-Urn", "true"], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip()


def run_scenario(scenario: object, level: str, resolvers: str = "", before: str = "") -> None:
    """before: a shell command that runs in the namespaces of the host first."""
    root = os.geteuid() == 0
    if level == "root" and not root:
        pytest.skip("needs root")
    if root and not shutil.which("ip"):
        pytest.skip("ip is not installed (package iproute2)")
    if level == "user" and (error := _userns_error()):
        pytest.skip(f"user namespaces are not available: {error}")
    interpreter = interpreters.for_user(ORDINARY_UID) if root and level == "user" else sys.executable
    name = f"{getattr(scenario, '__module__', '')}:{getattr(scenario, '__name__', '')}"
    for data in _data_directory():
        command = [interpreter, "-m", "tests.embedded.kubelet.network.network_harness", *name.split(":"), level, data, resolvers]
        if root:
            # All processes end with the PID namespace, also those that the code under test may leave behind.
            command = [
                "unshare",
                "-n",
                "-m",
                "-p",
                "-f",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                f'{before or ":"}; exec "$@"',
                "sh",
                *command,
            ]
        environment = {**os.environ, "PYTHONPATH": _PATH, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/"}
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


def _data_directory() -> Iterator[str]:
    """Outside the directories of pytest, which other users cannot enter."""
    with tempfile.TemporaryDirectory(prefix="traincrew-net-", ignore_cleanup_errors=True) as top:
        pathlib.Path(top).chmod(0o755)
        data = pathlib.Path(top, "data")
        data.mkdir(mode=0o700)
        yield str(data)
