"""The result of a check: a grade, a message and a remedy."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Grade(enum.StrEnum):
    OK = "ok"
    WARN = "warn"
    """Works with restrictions."""
    FAIL = "fail"
    """Does not work."""


class CheckResult(NamedTuple):
    grade: Grade
    subject: str
    message: str
    remedy: str = ""


def ok(subject: str, message: str) -> CheckResult:
    return CheckResult(Grade.OK, subject, message)


def warn(subject: str, message: str, remedy: str) -> CheckResult:
    return CheckResult(Grade.WARN, subject, message, remedy)


def fail(subject: str, message: str, remedy: str) -> CheckResult:
    return CheckResult(Grade.FAIL, subject, message, remedy)
