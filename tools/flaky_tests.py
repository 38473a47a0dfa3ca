"""The list of flaky tests (tests/flaky.toml): its format, the pytest plugin that applies it, and the check of its entries.

Usage: python -m tools.flaky_tests    fails if an entry is too old or names no test
"""

from __future__ import annotations

import datetime
import pathlib
import sys
import tomllib
from collections.abc import Generator, Sequence
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).parents[1]
LIST = ROOT / "tests" / "flaky.toml"
MAX_AGE = datetime.timedelta(days=14)
_SECTION = "flaky tests (tests/flaky.toml)"


class FlakyTest(NamedTuple):
    id: str
    date: datetime.date
    cause: str

    def matches(self, nodeid: str) -> bool:
        return self.id in (nodeid, nodeid.partition("[")[0])


class InvalidList(Exception):
    """The list cannot be read."""


def load(path: pathlib.Path) -> tuple[FlakyTest, ...]:
    try:
        return tuple(_entry(table) for table in tomllib.loads(path.read_text()).get("test", ()))
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise InvalidList(f"{path}: {error}") from error


def _entry(table: dict[str, object]) -> FlakyTest:
    unknown = set(table) ^ set(FlakyTest._fields)
    if unknown:
        raise TypeError(f"each [[test]] has id, date and cause; missing or unknown: {', '.join(sorted(unknown))}")
    name, date, cause = table["id"], table["date"], table["cause"]
    if not (isinstance(name, str) and isinstance(cause, str) and cause and type(date) is datetime.date):
        raise TypeError(f"{name}: id and cause are strings, date is a date such as 2026-01-31")
    return FlakyTest(name, date, cause)


def faults(entries: Sequence[FlakyTest], today: datetime.date, root: pathlib.Path) -> list[str]:
    """Why the list fails `make check`, one line each."""
    found = []
    for entry in entries:
        path, _, function = entry.id.partition("::")
        name = function.partition("[")[0].rpartition("::")[2] or function.partition("[")[0]
        if not (root / path).is_file() or f"def {name}(" not in (root / path).read_text():
            found.append(f"{entry.id}: there is no such test. Remove the entry.")
        elif today - entry.date > MAX_AGE:
            found.append(f"{entry.id}: listed since {entry.date}, more than {MAX_AGE.days} days. Fix the cause ({entry.cause}).")
    return found


class Plugin:
    """Listed tests run as all others do; a failure of theirs is reported apart and does not fail the run."""

    def __init__(self, entries: Sequence[FlakyTest]) -> None:
        self._entries = entries

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        entry = next((entry for entry in self._entries if entry.matches(item.nodeid)), None)
        if entry is not None:
            # These attributes travel from the processes of pytest-xdist to the one that prints the summary.
            vars(report)["flaky"] = f"{report.outcome}, listed since {entry.date}: {entry.cause}"
            vars(report)["flaky_failure"] = report.longreprtext if report.failed else ""
            if report.failed:
                # The outcome of an expected failure, which counts neither as failed nor as passed.
                report.outcome = "skipped"
                report.wasxfail = entry.cause
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        if getattr(report, "flaky", None) is None or (report.when != "call" and not vars(report)["flaky_failure"]):
            return None
        return "flaky", "f", "FLAKY"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        reports = terminalreporter.stats.get("flaky", [])
        if not reports:
            return
        terminalreporter.section(_SECTION)
        for report in reports:
            terminalreporter.write_line(f"{report.nodeid}: {report.flaky}")
            if report.flaky_failure:
                terminalreporter.write_line(report.flaky_failure)


def main() -> None:
    try:
        wrong = faults(load(LIST), datetime.datetime.now(tz=datetime.UTC).date(), ROOT)
    except InvalidList as error:
        wrong = [str(error)]
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
