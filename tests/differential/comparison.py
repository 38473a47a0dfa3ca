"""The differences between two responses: one line for each path."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

ABSENT = "(absent)"
MAX_LENGTH = 300
NUMBERED = re.compile(r"<(uid|version|ip|port|random) \d+>")


@dataclasses.dataclass(frozen=True)
class Difference:
    case: str
    request: str
    path: str
    """In the response: `status`, `header.warning`, `body.metadata.name`."""
    real: str
    ours: str

    def __str__(self) -> str:
        line = f"{self.case} | {short(self.request)} | {self.path} | real: {short(self.real)} | ours: {short(self.ours)}"
        return "".join(each if each.isprintable() else repr(each)[1:-1] for each in line)


class ScenarioComparison:
    """Compares the responses of one scenario in their order: a token of one server corresponds to one token of the other."""

    def __init__(self) -> None:
        self._partners: dict[str, set[str]] = {}
        self._backwards: dict[str, set[str]] = {}

    def responses(self, real: Any, ours: Any) -> Iterator[tuple[str, str, str]]:
        """(path, real, ours) for each difference. If the status codes differ, only that difference."""
        codes = [each.get("status") if isinstance(each, dict) else None for each in (real, ours)]
        if codes[0] != codes[1]:
            yield "status", _error_text(real), _error_text(ours)
        else:
            yield from self.values(real, ours, "")

    def values(self, real: Any, ours: Any, path: str) -> Iterator[tuple[str, str, str]]:
        if isinstance(real, dict) and isinstance(ours, dict):
            for key in sorted({*real, *ours}):
                yield from self.values(real.get(key, ABSENT), ours.get(key, ABSENT), f"{path}.{key}" if path else str(key))
        elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
            for index, (one, other) in enumerate(zip(real, ours, strict=True)):
                yield from self.values(one, other, f"{path}[{index}]")
        elif isinstance(real, str) and isinstance(ours, str):
            if not self._same(real, ours):
                yield path, _json(real), _json(ours)
        elif real != ours or type(real) is not type(ours):
            # Lists of different lengths are reported whole: one missing entry would make all later entries differ.
            yield path, _json(real), _json(ours)

    def _same(self, real: str, ours: str) -> bool:
        if NUMBERED.sub(r"<\1 #>", real) != NUMBERED.sub(r"<\1 #>", ours):
            return False
        pairs = zip(NUMBERED.finditer(real), NUMBERED.finditer(ours), strict=True)
        fits = [self._partner(one.group(), other.group()) for one, other in pairs]
        return all(fits)

    def _partner(self, one: str, other: str) -> bool:
        known, backwards = self._partners.setdefault(one, set()), self._backwards.setdefault(other, set())
        fits = other in known or (not known and not backwards)
        # Reported once: the pair is not reported again.
        known.add(other)
        backwards.add(one)
        return fits


def short(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}… ({len(text)} characters)"


def _error_text(response: Any) -> str:
    """Status code, reason and message of an error."""
    body = response.get("body") if isinstance(response, dict) else None
    parts = [str(body[key]) for key in ("reason", "message") if body.get(key)] if isinstance(body, dict) else [str(body)]
    return " ".join([str(response.get("status")), *parts]) if isinstance(response, dict) else _json(response)


def _json(value: Any) -> str:
    return value if value is ABSENT else json.dumps(value, sort_keys=True, ensure_ascii=False)
