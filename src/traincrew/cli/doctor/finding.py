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


class Finding(NamedTuple):
    grade: Grade
    subject: str
    message: str
    remedy: str = ""


def ok(subject: str, message: str) -> Finding:
    return Finding(Grade.OK, subject, message)


def warn(subject: str, message: str, remedy: str) -> Finding:
    return Finding(Grade.WARN, subject, message, remedy)


def fail(subject: str, message: str, remedy: str) -> Finding:
    return Finding(Grade.FAIL, subject, message, remedy)
