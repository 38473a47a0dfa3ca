"""The Makefile: every test file is run by some target, and `make` lists few of them."""

from __future__ import annotations

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
TARGETS = (
    "test", "test-cli", "test-history", "test-console", "test-console-browser", "test-console-cluster", "test-node",
    "test-resilience", "test-hostile", "test-operator", "test-cluster", "test-chaos", "test-faults", "test-agreement",
    "test-differential", "test-install", "test-release", "test-frameworks", "test-ecosystem", "test-dockerfile", "test-kubelet",
    "test-monitoring",
)  # fmt: skip

NOT_IN_TEST_ALL = {
    "test-console-cluster": "the console as pods",
    "test-console-browser": "browsers", "test-console-browser-cluster": "browsers", "test-console-core": "browsers",
    "test-dockerfile": "containers", "test-kubelet": "containers",
    "test-frameworks": "real frameworks", "test-frameworks-core": "real frameworks",
    "test-clients": "clients and operators of other projects", "test-ecosystem": "clients and operators of other projects",
    "test-monitoring": "Prometheus",
    "test-oldest": "Kubernetes 1.27", "test-faults": "random faults",
}  # fmt: skip
"""The targets that `make test-all` omits → the words for them in its description."""


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


def listed(*arguments: str) -> dict[str, str]:
    """The targets that a list has, with what they do."""
    return dict(re.findall(r"^  make (\S+) +(\S.*)$", make(*arguments), re.MULTILINE))


def test_make_lists_at_most_a_dozen_targets() -> None:
    assert len(listed()) <= 12


def test_the_targets_that_the_readme_needs_are_listed_with_what_they_do() -> None:
    assert {"demo", "console", "framework-NAME", "help-all"} <= set(listed())


def test_help_all_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: help ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    missing = {*phony[1].replace("\\", " ").split(), *listed()} - set(listed("help-all"))
    assert not missing


def test_the_description_of_test_all_says_what_it_omits() -> None:
    found = re.search(r"^test-all: (.*?) ##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    targets = {target for target in listed("help-all") if re.match(r"test(-|$)", target)}
    # test-history runs the tests of test-postgres where PostgreSQL is installed.
    assert targets - {"test-all", "test-postgres", *found[1].split()} == set(NOT_IN_TEST_ALL)
    assert not [words for words in NOT_IN_TEST_ALL.values() if words not in listed()["test-all"]]
