"""Results of the tests of one client, and the line that reports them. Pure."""

from __future__ import annotations

import collections
import xml.etree.ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ClientResult:
    client: str
    version: str
    passed: int = 0
    failed: tuple[str, ...] = ()
    """Names of tests with the first line of the error."""
    skipped: tuple[str, ...] = ()
    """Reasons, one for each test."""
    seconds: float = 0.0

    def line(self) -> str:
        reasons = collections.Counter(self.skipped)
        listed = "; ".join(f"{count}: {reason}" for reason, count in sorted(reasons.items(), key=lambda each: -each[1]))
        skipped = f"{len(self.skipped)} skipped" + (f" ({listed})" if listed else "")
        return f"{self.client} {self.version}: {self.passed} passed, {len(self.failed)} failed, {skipped}, {self.seconds:.0f} s"


def from_junit(client: str, version: str, report: str, exceptions: Mapping[str, str]) -> ClientResult:
    """exceptions: test → why it is not run. Such tests are skipped, whatever they did."""
    root = xml.etree.ElementTree.fromstring(report)
    passed, failed, skipped, seconds = 0, [], list[str](), 0.0
    for case in root.iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        seconds += float(case.get("time", "0"))
        problem = next((each for each in case if each.tag in ("failure", "error")), None)
        skip = case.find("skipped")
        if problem is not None:
            failed.append(f"{name}: {_first_line(problem.get('message', ''))}")
        elif skip is not None:
            skipped.append(_first_line(skip.get("message", "")))
        else:
            passed += 1
    return ClientResult(client, version, passed, _failures(passed, failed), (*skipped, *exceptions.values()), seconds)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:200]


def from_checks(client: str, version: str, checks: Iterable[tuple[str, str]], seconds: float) -> ClientResult:
    """checks: name → problem; an empty one means success."""
    listed = list(checks)
    failed = [f"{name}: {problem}" for name, problem in listed if problem]
    passed = len(listed) - len(failed)
    return ClientResult(client, version, passed, _failures(passed, failed), (), seconds)


def _failures(passed: int, failed: list[str]) -> tuple[str, ...]:
    """Tests that are not found, or all skipped, are no success."""
    return tuple(failed or (() if passed else ["no test passed"]))
