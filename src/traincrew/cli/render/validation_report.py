"""The output of `traincrew validate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traincrew.validation import manifest_review

Reviews = Mapping[str, manifest_review.Review]
"""By file name."""


def has_errors(reviews: Reviews) -> bool:
    return any(finding.level == "error" for review in reviews.values() for finding in review.findings)


def as_text(reviews: Reviews) -> str:
    lines = [
        f"{name}:{finding.line}: {'warning: ' if finding.level == 'warning' else ''}{finding}"
        for name, review in reviews.items()
        for finding in review.findings
    ]
    return "\n".join([*lines, _summary(reviews)])


def _summary(reviews: Reviews) -> str:
    levels = [finding.level for review in reviews.values() for finding in review.findings]
    counts = [
        _count(levels.count("error"), "error"),
        _count(levels.count("warning"), "warning"),
        f"{_count(sum(review.jobs for review in reviews.values()), 'job')} in {_count(len(reviews), 'file')}",
    ]
    others = sum(review.others for review in reviews.values())
    skipped = f"; {_count(others, 'object')} of other kinds skipped" if others else ""
    return ", ".join(counts) + skipped


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number or 'no'} {noun}s"


def invalid_files(reviews: Reviews) -> list[str]:
    return [name for name, review in reviews.items() if any(finding.level == "error" for finding in review.findings)]


def as_json(reviews: Reviews) -> dict[str, Any]:
    findings = [
        {"file": name, "line": finding.line, "path": finding.path, "message": finding.message, "level": finding.level}
        for name, review in reviews.items()
        for finding in review.findings
    ]
    counts = {
        "jobs": sum(review.jobs for review in reviews.values()),
        "others": sum(review.others for review in reviews.values()),
    }
    return {"files": len(reviews), **counts, "findings": findings}
