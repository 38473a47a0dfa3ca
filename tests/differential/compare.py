"""Where two answers differ: one line for each place."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

ABSENT = "(absent)"
LONGEST = 300
NUMBERED = re.compile(r"<(uid|version|ip|port|random) \d+>")


@dataclasses.dataclass(frozen=True)
class Difference:
    case: str
    request: str
    path: str
    """In the answer: `status`, `header.warning`, `body.metadata.name`."""
    real: str
    ours: str

    def __str__(self) -> str:
        line = f"{self.case} | {short(self.request)} | {self.path} | real: {short(self.real)} | ours: {short(self.ours)}"
        return "".join(each if each.isprintable() else repr(each)[1:-1] for each in line)


class Comparison:
    """Of the answers of one scenario, in their order: a token of one side stands for a token of the other throughout."""

    def __init__(self) -> None:
        self._partners: dict[str, set[str]] = {}
        self._backwards: dict[str, set[str]] = {}

    def answers(self, real: Any, ours: Any) -> Iterator[tuple[str, str, str]]:
        """(path, real, ours) for each place where the two answers differ; where one is a refusal and the other is not, or
        they refuse for different reasons, that alone."""
        codes = [each.get("status") if isinstance(each, dict) else None for each in (real, ours)]
        if codes[0] != codes[1]:
            yield "status", _told(real), _told(ours)
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
                yield path, _shown(real), _shown(ours)
        elif real != ours or type(real) is not type(ours):
            # Lists of different lengths are told whole: entry by entry would blame all that follow the one that is missing.
            yield path, _shown(real), _shown(ours)

    def _same(self, real: str, ours: str) -> bool:
        if NUMBERED.sub(r"<\1 #>", real) != NUMBERED.sub(r"<\1 #>", ours):
            return False
        pairs = zip(NUMBERED.finditer(real), NUMBERED.finditer(ours), strict=True)
        fits = [self._partner(one.group(), other.group()) for one, other in pairs]
        return all(fits)

    def _partner(self, one: str, other: str) -> bool:
        known, backwards = self._partners.setdefault(one, set()), self._backwards.setdefault(other, set())
        fits = other in known or (not known and not backwards)
        # Told once, it is not told again wherever the two meet later.
        known.add(other)
        backwards.add(one)
        return fits


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _told(answer: Any) -> str:
    """Code and words of a refusal."""
    body = answer.get("body") if isinstance(answer, dict) else None
    words = [str(body[key]) for key in ("reason", "message") if body.get(key)] if isinstance(body, dict) else [str(body)]
    return " ".join([str(answer.get("status")), *words]) if isinstance(answer, dict) else _shown(answer)


def _shown(value: Any) -> str:
    return value if value is ABSENT else json.dumps(value, sort_keys=True, ensure_ascii=False)
