"""The differences that stay, each with its reason. A pattern that no longer matches anything fails the suite."""

from __future__ import annotations

import dataclasses
import re

from tests.differential.compare import Difference


@dataclasses.dataclass(frozen=True)
class Accepted:
    """Regular expressions, each of which must match the whole of its part."""

    reason: str
    case: str = ".*"
    request: str = ".*"
    path: str = ".*"
    real: str = ".*"
    ours: str = ".*"

    def covers(self, found: Difference) -> bool:
        parts = ("case", "request", "path", "real", "ours")
        return all(re.fullmatch(getattr(self, part), getattr(found, part), re.DOTALL) for part in parts)


ACCEPTED: tuple[Accepted, ...] = ()
