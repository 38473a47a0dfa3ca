"""`.ci/run` with a `make` that only prints: its steps, its output and its exit code."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

RUN = pathlib.Path(__file__).parents[2] / ".ci" / "run"
STEPS = {
    "setup", "check", "kube", "test", "test-cli", "test-history", "test-console", "check-console", "test-console-core",
    "test-node", "test-resilience", "test-operator", "test-cluster", "test-install", "test-frameworks-core",
}  # fmt: skip
"""Every target that needs no long build."""
MAKE = """#!/bin/sh
echo "last line of $2"
case " $FAILING " in *" $2 "*) exit 2 ;; esac
"""


@pytest.fixture
def environment(tmp_path: pathlib.Path) -> dict[str, str]:
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text(MAKE)
    make.chmod(0o755)
    return {**os.environ, "PATH": f"{make.parent}:{os.environ['PATH']}"}


def run(environment: dict[str, str], *failing: str) -> tuple[int, str]:
    ended = subprocess.run(
        [RUN], env={**environment, "FAILING": " ".join(failing)}, stdout=subprocess.PIPE, text=True, check=False
    )
    return ended.returncode, ended.stdout


def rows(output: str) -> dict[str, str]:
    """The results of the table by step."""
    table = output.partition("\nstep ")[2]
    return dict(re.findall(r"^(\S+) +\d+(?: +\d+)?  *(passed|failed)$", table, re.MULTILINE))


def test_every_step_runs_once(environment: dict[str, str]) -> None:
    code, output = run(environment)
    assert code == 0
    assert sorted(re.findall(r"^last line of (\S+)$", output, re.MULTILINE)) == sorted(STEPS)
    assert rows(output) == dict.fromkeys({*STEPS, "total"}, "passed")


def test_a_failure_hides_no_other_and_fails_the_run(environment: dict[str, str]) -> None:
    code, output = run(environment, "check", "test-node", "test-cluster")
    failed = {step for step, result in rows(output).items() if result == "failed"}
    assert (code, failed) == (1, {"check", "test-node", "test-cluster", "total"})
    assert rows(output).keys() == {*STEPS, "total"}


def test_nothing_runs_without_the_setup(environment: dict[str, str]) -> None:
    code, output = run(environment, "setup")
    assert (code, rows(output)) == (1, {"setup": "failed", "total": "failed"})
