"""What was found, how grave it is, and what to do about it."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Grade(enum.StrEnum):
    OK = "ok"
    WARN = "warn"
    """It works, with less than there could be."""
    FAIL = "fail"
    """It does not work."""


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
