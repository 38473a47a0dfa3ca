"""Tests of other clients: what is reported, and what is pinned."""

from __future__ import annotations

import re

from tools.clients import exceptions, go_programs, python_environments, python_suites, run
from tools.clients.results import ClientResult, from_checks, from_junit

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
