"""The list of flaky tests: what it does to a run, and when `make check` refuses it."""

from __future__ import annotations

import datetime
import pathlib

import pytest
from tools.flaky_tests import FlakyTest, InvalidList

from tools import flaky_tests

pytest_plugins = ["pytester"]

TODAY = datetime.date(2026, 3, 15)
CONFTEST = """
import datetime
import pytest
from tools.flaky_tests import FlakyTest, Plugin

def pytest_configure(config):
    names = ("test_sample.py::test_listed", "test_sample.py::test_set_up")
    config.pluginmanager.register(Plugin([FlakyTest(name, datetime.date(2026, 3, 1), "a race") for name in names]))
"""


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_sample=source)
    return pytester.runpytest_inprocess("-p", "no:asyncio", "-p", "no:hypothesispytest", *arguments)


def test_a_failure_of_a_listed_test_is_shown_and_does_not_fail_the_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_listed(): assert 1 == 2\ndef test_other(): pass")
    assert result.ret == 0
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*= flaky tests (tests/flaky.toml) =*",
            "test_sample.py::test_listed: failed, listed since 2026-03-01: a race",
            "*assert 1 == 2*",
        ]
    )


def test_a_listed_test_that_passes_is_shown_too(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_listed(): pass")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_sample.py::test_listed: passed, listed since 2026-03-01: a race"])


def test_every_parameter_of_a_listed_test_is_listed(pytester: pytest.Pytester) -> None:
    source = "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_listed(n): assert n == 2"
    result = run(pytester, source)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_sample.py::test_listed[[]1]: failed*", "test_sample.py::test_listed[[]2]: passed*"])


def test_an_error_in_a_fixture_of_a_listed_test_does_not_fail_the_run(pytester: pytest.Pytester) -> None:
    source = "import pytest\n@pytest.fixture\ndef broken(): raise OSError('no')\ndef test_set_up(broken): pass"
    result = run(pytester, source)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_sample.py::test_set_up: failed, *"])


def test_results_come_from_the_processes_of_a_parallel_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_listed(): assert 1 == 2\ndef test_other(): pass", "-n", "1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_sample.py::test_listed: failed, *", "*assert 1 == 2*"])


def test_a_test_that_is_not_listed_still_fails_the_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_other(): assert False")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*flaky tests*")


def _faults(tmp_path: pathlib.Path, name: str, date: datetime.date) -> list[str]:
    (tmp_path / "test_a.py").write_text("class TestA:\n    async def test_b(self) -> None: ...\n")
    return flaky_tests.faults([FlakyTest(name, date, "a race")], TODAY, tmp_path)


def test_an_entry_is_valid_for_fourteen_days(tmp_path: pathlib.Path) -> None:
    assert _faults(tmp_path, "test_a.py::TestA::test_b[1]", TODAY - datetime.timedelta(days=14)) == []
    [fault] = _faults(tmp_path, "test_a.py::TestA::test_b[1]", TODAY - datetime.timedelta(days=15))
    assert "more than 14 days" in fault


@pytest.mark.parametrize("name", ["test_a.py::test_c", "test_c.py::test_b"])
def test_an_entry_names_a_test_that_exists(tmp_path: pathlib.Path, name: str) -> None:
    [fault] = _faults(tmp_path, name, TODAY)
    assert "there is no such test" in fault


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[[test]]\nid = 'a'\ndate = 2026-01-31", id="without a cause"),
        pytest.param("[[test]]\nid = 'a'\ndate = 2026-01-31\ncause = ''", id="with an empty cause"),
        pytest.param("[[test]]\nid = 'a'\ndate = '2026-01-31'\ncause = 'b'", id="with a string for a date"),
        pytest.param("[[test]", id="not TOML"),
    ],
)
def test_a_list_that_says_too_little_is_refused(tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "flaky.toml"
    path.write_text(text)
    with pytest.raises(InvalidList):
        flaky_tests.load(path)


def test_the_list_of_this_repository_can_be_read() -> None:
    flaky_tests.load(flaky_tests.LIST)
