"""The Makefile: every test file is run by some target, and `make` lists few of them."""

from __future__ import annotations

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
TARGETS = (
    "test", "test-cli", "test-console", "test-console-browser", "test-node", "test-resilience", "test-hostile", "test-operator",
    "test-cluster", "test-chaos", "test-agreement", "test-differential", "test-install", "test-release", "test-frameworks",
    "test-ecosystem", "test-dockerfile", "test-kubelet",
)  # fmt: skip
CONTINUOUS = (
    "setup check test test-cli test-console check-console kube test-node test-resilience test-operator test-cluster test-install "
    "test-frameworks-core"
)


def make(*arguments: str) -> str:
    command = ["make", "--no-print-directory", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_every_test_file_is_run_by_some_target() -> None:
    paths = {ROOT / path for path in re.findall(r"(?<!=)tests/\S+", make("--dry-run", *TARGETS))}
    missing = [str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py") if not paths & {file, *file.parents}]
    assert not missing, f"no target runs these: {missing}"


def test_every_path_of_a_target_exists() -> None:
    named = set(re.findall(r"(?:^|[ =])(tests/\S+)", make("--dry-run", *TARGETS), re.MULTILINE))
    assert not [path for path in named if not (ROOT / path).exists()]


def test_make_lists_at_most_a_dozen_targets() -> None:
    assert len(re.findall(r"^  make ", make(), re.MULTILINE)) <= 12


def test_the_checks_before_landing_run_every_target_that_needs_no_long_build() -> None:
    steps = re.search(r"STEPS=\((.*?)\)", (ROOT / ".ci" / "run").read_text())
    assert steps
    assert steps[1] == CONTINUOUS
