"""Tests of other clients: what is reported, and what is pinned."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

import pytest
from tools.clients import exceptions, go_programs, python_environments, python_suites, run, stern
from tools.clients.results import ClientResult, from_checks, from_junit
from tools.frameworks.commands import BuildFailed

REPORT = """<testsuites><testsuite>
<testcase classname="a.b" name="test_one" time="1.5"/>
<testcase classname="a.b" name="test_two" time="0.5"><failure message="assert 1 == 2&#10;more"/></testcase>
<testcase classname="a.b" name="test_three" time="0"><error message="failed on setup"/></testcase>
<testcase classname="a.b" name="test_four" time="0"><skipped message="needs kind"/></testcase>
</testsuite></testsuites>"""


def test_a_report_of_pytest_is_counted() -> None:
    result = from_junit("kopf", "1.0", REPORT, {"test_five": "not served", "test_six": "not served"})
    assert result.failed == ("a.b::test_two: assert 1 == 2", "a.b::test_three: failed on setup")
    assert result.line() == "kopf 1.0: 1 passed, 2 failed, 3 skipped (2: not served; 1: needs kind), 2 s"


def test_failed_commands_are_counted() -> None:
    result = from_checks("helm", "3.0", [("install", ""), ("upgrade", "exit code 1")], 3.0)
    assert (result.passed, result.failed) == (1, ("upgrade: exit code 1",))


def test_a_client_of_which_no_test_passed_has_failed() -> None:
    assert from_junit("kr8s", "1.0", "<testsuites><testsuite/></testsuites>", {}).failed == ("no test passed",)
    skipped = REPORT[: REPORT.index("<testcase")] + REPORT[REPORT.rindex("<testcase") :]
    assert from_junit("kr8s", "1.0", skipped, {}).failed == ("no test passed",)
    assert from_checks("helm", "3.0", [], 0.0).failed == ("no test passed",)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (stern.PreparationFailed("kubectl wait: timed out"), "PreparationFailed: kubectl wait: timed out"),
        (subprocess.TimeoutExpired("pytest", 1800), "TimeoutExpired: Command 'pytest' timed out after 1800 seconds"),
        (python_suites.NoReport("pytest ended with exit code 3"), "NoReport: pytest ended with exit code 3"),
        (BuildFailed("no network"), "not built: no network"),
    ],
)
def test_an_error_of_one_client_is_its_failure_and_hides_no_other(error: Exception, failure: str) -> None:
    def broken(cluster: Mapping[str, str]) -> ClientResult:
        raise error

    good = ClientResult("helm", "3.0", 20)
    results = run.run_all({"stern": broken, "helm": lambda cluster: good}, {})
    assert results == [ClientResult("stern", "(version unknown)", failed=(failure,)), good]


def test_a_client_without_tests_is_reported_with_the_reason() -> None:
    assert ClientResult("x", "1", skipped=("no tests",)).line() == "x 1: 0 passed, 0 failed, 1 skipped (1: no tests), 0 s"


def test_every_client_is_pinned_with_hashes_and_without_addresses() -> None:
    for suite in python_suites.SUITES:
        lock = (python_environments.LOCKS / f"{suite.client}.txt").read_text()
        requested = (python_environments.LOCKS / f"{suite.client}.in").read_text()
        assert f"=={python_environments.pinned_version(suite.client, lock)}\n" in requested
        assert len(re.findall("--hash=sha256:", python_environments.entry(suite.client, lock))) >= 2, suite.client
        assert "://" not in lock
    for name in go_programs.PACKAGES:
        assert re.fullmatch(r"\d+\.\d+\.\d+", go_programs.version(name))
    assert set(run.CLIENTS) == {suite.client for suite in python_suites.SUITES} | (set(go_programs.PACKAGES) - {"kustomize"})


def test_every_exception_names_a_test_once_with_a_reason() -> None:
    for client in run.CLIENTS:
        for test, reason in exceptions.of(client).items():
            assert re.fullmatch(r"[\w/.-]+\.py(::\w+)+(\[.+\])?", test), test
            assert reason
    assert exceptions.clients() <= set(run.CLIENTS)
