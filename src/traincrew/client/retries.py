"""Which requests are retried, and after which delay.

A request is retried only after a `TemporaryError`, and then

- always, if the server did not act on it: it was never sent, or was rejected with 429 or with 503 and Retry-After;
- else, if it is idempotent. Reads, deletes, replaces and merge patches are. So are creates of named objects: the
  second of two gets AlreadyExists, which the caller must handle in any case. Creates with generateName and JSON
  patches are not idempotent, and their error is raised at once.
"""

from __future__ import annotations

import dataclasses
import random

from traincrew import errors
from traincrew.apimachinery import backoff

NEVER_SENT = "NeverSent"
"""The reason of an Unreachable whose request cannot have reached the server."""


@dataclasses.dataclass(frozen=True)
class RetryLimits:
    """The limits of one client. Times are in seconds."""

    in_flight: int = 64
    """Largest number of concurrent requests, without watches."""
    page_size: int = 500
    connect_timeout: float = 10.0
    request_timeout: float = 60.0
    watch_seconds: tuple[int, int] = (290, 590)
    """The requested duration of a watch: a random time in this range, so that watches do not end together."""
    attempts: int = 5
    first_delay: float = 0.1
    longest_delay: float = 5.0
    retry_seconds: float = 30.0
    """No attempt starts later than this after the first; a longer Retry-After is left to the caller."""


class Backoff:
    """Exponential back-off with jitter, so that clients that failed together do not retry together."""

    def __init__(self, first: float, longest: float, rng: random.Random | None = None) -> None:
        self._first, self._longest = first, longest
        self._rng = rng or random.Random()
        self._failures = 0

    def next(self, error: errors.ApiError | None = None) -> float:
        """The delay in seconds; never less than the server's Retry-After."""
        self._failures += 1
        delay = backoff.exponential_delay(self._failures, self._first, self._longest)
        jitter = self._rng.uniform(0.5, 1.0)
        if error is not None and error.retry_after is not None:
            return float(error.retry_after) + delay * jitter
        return delay * jitter

    def reset(self) -> None:
        self._failures = 0


def server_did_not_act(error: errors.TemporaryError) -> bool:
    """Whether the server certainly did not act on the request."""
    if isinstance(error, errors.Unreachable):
        return error.reason == NEVER_SENT
    return error.code == 429 or (error.code == 503 and error.retry_after is not None)
