"""Where two answers differ: one line for each place."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

ABSENT = "(absent)"
LONGEST = 300


@dataclasses.dataclass(frozen=True)
class Difference:
    case: str
    request: str
    path: str
    """In the answer: `status`, `header.warning`, `body.metadata.name`."""
    real: str
    ours: str

    def __str__(self) -> str:
        return f"{self.case} | {self.request} | {self.path} | real: {short(self.real)} | ours: {short(self.ours)}"


def differences(real: Any, ours: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """(path, real, ours) for each place where the two values differ."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted({*real, *ours}):
            yield from differences(real.get(key, ABSENT), ours.get(key, ABSENT), f"{path}.{key}" if path else str(key))
    elif isinstance(real, list) and isinstance(ours, list) and _comparable(real, ours):
        for index, (one, other) in enumerate(zip(real, ours, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif real != ours or type(real) is not type(ours):
        yield path, _shown(real), _shown(ours)


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _comparable(real: list[Any], ours: list[Any]) -> bool:
    """Lists of different lengths are told whole: entry by entry would blame every entry after the one that is missing."""
    return len(real) == len(ours)


def _shown(value: Any) -> str:
    return value if value is ABSENT else json.dumps(value, sort_keys=True, ensure_ascii=False)
