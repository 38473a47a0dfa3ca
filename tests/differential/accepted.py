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


ACCEPTED = (
    Accepted(
        "Nobody is let in without credentials: there is no user system:anonymous, so the answer is 401 instead of 403.",
        case="who_is_nobody",
        real="403 Forbidden .*system:anonymous.*",
        ours="401 Unauthorized.*",
    ),
    Accepted(
        "Ownership of fields is kept from an object's first apply on: what was written before belongs to `before-first-apply`.",
        case="the_first_apply_to_what_was_created",
        real='.*"?creator"?.*',
        ours='.*"?before-first-apply"?.*',
    ),
)
