"""A failed test is reported, whatever its message contains, also by the processes of pytest-xdist."""

from __future__ import annotations

import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
pytest_plugins = ["pytester"]


def test_a_message_with_a_lone_surrogate_does_not_end_the_run(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\npythonpath = {ROOT}")
    pytester.makeconftest("from tests.conftest import pytest_report_to_serializable\n")
    pytester.makepyfile(test_sample="def test_a(): assert 1 == 2, 'name \\udcff'\ndef test_b(): pass")
    result = pytester.runpytest_subprocess("-n", "1", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: name \\udcff*"])
