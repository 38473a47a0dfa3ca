"""When to ask again, and how long to wait before.

A request is asked again only after a `TemporaryError`, and then

- always, if the server did not act on it: it was never sent, or was refused with 429 or with 503 and Retry-After;
- else, if asking twice does no harm. Reads, deletes, replaces and merge patches are such. So are creates, since
  the objects have names: the second of two gets AlreadyExists, which the caller must look at in any case. Creates
  with generateName and JSON patches are not, and their error is raised at once.
"""

from __future__ import annotations

import dataclasses
import random

from traincrew import errors

NEVER_SENT = "NeverSent"
"""The reason of an Unreachable whose request cannot have reached the server."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one client allows itself. Times are in seconds."""

    in_flight: int = 64
    """Requests at the same time; watches do not count."""
    page_size: int = 500
    connect_timeout: float = 10.0
    request_timeout: float = 60.0
    watch_seconds: tuple[int, int] = (290, 590)
    """How long a watch is asked to last: a random time in between, so that watches do not end together."""
    attempts: int = 5
    first_delay: float = 0.1
    longest_delay: float = 5.0
    patience: float = 30.0
    """No further attempt starts later than this after the first; a longer Retry-After is the caller's to heed."""


class Backoff:
    """Delays that double, with jitter, so that many who failed together do not come back together."""

    def __init__(self, first: float, longest: float, rng: random.Random | None = None) -> None:
        self._first, self._longest = first, longest
        self._rng = rng or random.Random()
        self._failures = 0

    def next(self, error: errors.ApiError | None = None) -> float:
        """Seconds to wait; never less than the server asked for."""
        delay = min(self._longest, self._first * 2.0 ** min(self._failures, 30))
        self._failures += 1
        jitter = self._rng.uniform(0.5, 1.0)
        if error is not None and error.retry_after is not None:
            return float(error.retry_after) + delay * jitter
        return delay * jitter

    def reset(self) -> None:
        self._failures = 0


def did_nothing(error: errors.TemporaryError) -> bool:
    """Whether the server certainly did not act on the request."""
    if isinstance(error, errors.Unreachable):
        return error.reason == NEVER_SENT
    return error.code == 429 or (error.code == 503 and error.retry_after is not None)
