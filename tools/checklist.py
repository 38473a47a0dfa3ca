"""`make checklist`: every line of the checklist, the tests that prove it, and their outcomes."""

from __future__ import annotations

import collections
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
LINE = re.compile(r"- C(\d+) \((M|Q)\) (.*)")


class Outcomes:
    """A pytest plugin that keeps, for each line, the outcome of each of its tests."""

    def __init__(self) -> None:
        self.by_line: dict[int, dict[str, str]] = collections.defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        numbers = dict(report.user_properties).get("checklist") or []
        for number in numbers if isinstance(numbers, list) else []:
            known = self.by_line[number].get(report.nodeid, "passed")
            if report.when == "call" or report.outcome != "passed":
                self.by_line[number][report.nodeid] = report.outcome if known == "passed" else known


def checklist() -> dict[int, str]:
    text = (ROOT / "docs" / "checklist.md").read_text()
    return {int(found[1]): found[3] for found in map(LINE.fullmatch, text.splitlines()) if found}


def table(lines: dict[int, str], outcomes: Outcomes) -> tuple[str, list[int]]:
    rows, unproven = [], []
    for number, text in lines.items():
        tests = outcomes.by_line.get(number, {})
        good = bool(tests) and all(outcome == "passed" for outcome in tests.values())
        if not good:
            unproven.append(number)
        rows.append(f"C{number:<4}{'proven' if good else 'UNPROVEN':<10}{text[:100]}")
        rows += [f"     {outcome:<10}{nodeid}" for nodeid, outcome in sorted(tests.items())]
    return "\n".join(rows), unproven


def main() -> int:
    outcomes = Outcomes()
    arguments = ["-q", "-m", "checklist", "--no-header", "-p", "no:cacheprovider", str(ROOT / "tests" / "cluster"), *sys.argv[1:]]
    pytest.main(arguments, plugins=[outcomes])
    lines = checklist()
    text, unproven = table(lines, outcomes)
    print(text)
    print(f"\n{len(lines) - len(unproven)} of {len(lines)} lines are proven")
    if unproven:
        print(f"unproven: {', '.join(f'C{number}' for number in unproven)}")
    return 1 if unproven else 0


if __name__ == "__main__":
    sys.exit(main())
