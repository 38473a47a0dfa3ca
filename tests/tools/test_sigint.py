"""Commands that tests start do not ignore SIGINT, even if the test run was started in the background of a script."""

from __future__ import annotations

import pathlib
import re
import signal
import subprocess
import sys


def test_commands_of_tests_do_not_ignore_sigint() -> None:
    status = subprocess.run(["cat", "/proc/self/status"], check=True, capture_output=True, text=True).stdout
    ignored = re.search(r"^SigIgn:\s*(\w+)$", status, re.MULTILINE)
    assert ignored
    assert not int(ignored[1], 16) & 1 << signal.SIGINT - 1


def test_nor_do_they_if_the_test_run_itself_was_started_with_sigint_ignored() -> None:
    test = f"{pathlib.Path(__file__)}::{test_commands_of_tests_do_not_ignore_sigint.__name__}"
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    run = subprocess.run(["sh", "-c", 'trap "" INT; exec "$@"', "sh", *pytest], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
