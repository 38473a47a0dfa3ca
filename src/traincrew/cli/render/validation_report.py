"""The output of `traincrew validate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traincrew.validation import manifest_review

Reviews = Mapping[str, manifest_review.Review]
"""By file name."""


def has_errors(reviews: Reviews) -> bool:
    return any(remark.level == "error" for review in reviews.values() for remark in review.remarks)


def as_text(reviews: Reviews) -> str:
    lines = [
        f"{name}:{remark.line}: {'warning: ' if remark.level == 'warning' else ''}{remark}"
        for name, review in reviews.items()
        for remark in review.remarks
    ]
    return "\n".join([*lines, _summary(reviews)])


def _summary(reviews: Reviews) -> str:
    levels = [remark.level for review in reviews.values() for remark in review.remarks]
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
    return [name for name, review in reviews.items() if any(remark.level == "error" for remark in review.remarks)]


def as_json(reviews: Reviews) -> dict[str, Any]:
    remarks = [
        {"file": name, "line": remark.line, "path": remark.path, "message": remark.message, "level": remark.level}
        for name, review in reviews.items()
        for remark in review.remarks
    ]
    counts = {
        "jobs": sum(review.jobs for review in reviews.values()),
        "others": sum(review.others for review in reviews.values()),
    }
    return {"files": len(reviews), **counts, "remarks": remarks}
