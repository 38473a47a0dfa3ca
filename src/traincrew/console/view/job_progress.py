"""How far a job has come: what its annotation says, else what its output shows."""

from __future__ import annotations

import re

from traincrew.console.contract.jobs import Progress
from traincrew.console.view.series import Tracker

ANNOTATION = "traincrew.kubeflow.org/progress"
_PERCENT = re.compile(r"\s*(\d{1,3}(?:\.\d+)?)\s*%\s*(.*)", re.DOTALL)
_STEPS = re.compile(r"\s*(\d{1,12})\s*/\s*(\d{1,12})\s*(.*)", re.DOTALL)
MAX_TEXT = 200


def of_annotation(annotations: dict[str, str]) -> Progress | None:
    """`71%` or `412/938`, each with a text behind it if wanted."""
    given = annotations.get(ANNOTATION, "")
    if (found := _PERCENT.fullmatch(given)) is not None:
        fraction, text = float(found[1]) / 100, found[2] or f"{found[1]}%"
    elif (found := _STEPS.fullmatch(given)) is not None and int(found[2]):
        fraction, text = int(found[1]) / int(found[2]), found[3] or f"step {found[1]} of {found[2]}"
    else:
        return None
    return Progress(fraction=min(fraction, 1.0), text=text[:MAX_TEXT], source="annotation")


def of_output(tracker: Tracker) -> Progress | None:
    fraction = tracker.fraction()
    return Progress(fraction=fraction, text=tracker.text(), source="output") if fraction is not None else None
