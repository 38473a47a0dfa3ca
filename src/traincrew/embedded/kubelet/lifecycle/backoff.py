"""The back-off of a container that exited or failed to start, by the kubelet's rules."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import backoff, times
from traincrew.embedded.kubelet.lifecycle.observed import Exited, ObservedContainer, StartFailure

INITIAL_DELAY = 10
CONTAINER_MAX_DELAY = 300
"""CrashLoopBackOff."""
IMAGE_PULL_MAX_DELAY = 300
"""ImagePullBackOff."""
_RESET_AFTER = dt.timedelta(minutes=10)
"""A container that ran longer starts over with the initial delay."""
_CREATED = ("RunContainerError", "StartError")
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed")
PROBE_FAILURES = ("liveness", "startup")
"""Stop reasons after which the kubelet restarts the container in the same sync."""


class ContainerBackoff(NamedTuple):
    until: dt.datetime | None
    """None: the container starts at once."""
    delay: int
    """Seconds, for the message."""
    next_delay: int
    """The delay that the next attempt starts with."""


def consumes_attempt(state: object) -> bool:
    """Whether the next start needs a new attempt number."""
    return isinstance(state, Exited) or (isinstance(state, StartFailure) and state.reason in _CREATED)


def current_delay(current: ObservedContainer) -> int:
    if current.backoff is not None:
        return current.backoff
    attempt = current.state.attempt if current.state is not None else 0
    return int(backoff.exponential_delay(attempt, INITIAL_DELAY, CONTAINER_MAX_DELAY)) if attempt > 0 else 0


def after_exit(current: ObservedContainer) -> ContainerBackoff:
    """The back-off after an attempt for which `consumes_attempt` holds."""
    started, finished = _span(current.state)
    delay = current_delay(current)
    if finished is None:
        return ContainerBackoff(None, 0, _doubled(delay))
    if started is not None and finished - started > _RESET_AFTER:
        return ContainerBackoff(None, 0, INITIAL_DELAY)
    if isinstance(current.state, Exited) and current.state.stop_reason in PROBE_FAILURES:
        # The kubelet computes this back-off from its last status, which does not have this exit yet, only the one before.
        before = _span(current.history[0])[1] if current.history else None
        if before is None:
            return ContainerBackoff(None, 0, delay)
        if finished - before >= dt.timedelta(seconds=delay):
            return ContainerBackoff(None, 0, _doubled(delay))
    if delay == 0:
        return ContainerBackoff(None, 0, INITIAL_DELAY)
    return ContainerBackoff(times.later(finished, delay), delay, _doubled(delay))


def after_start_failure(failure: StartFailure) -> dt.datetime:
    """When to retry a start that created nothing."""
    if failure.reason in _IMAGE:
        return times.later(failure.at, backoff.exponential_delay(failure.count, INITIAL_DELAY, IMAGE_PULL_MAX_DELAY))
    return retry(failure.at, failure.count)


def is_image_failure(failure: StartFailure) -> bool:
    return failure.reason in _IMAGE


def retry(at: dt.datetime, failures: int) -> dt.datetime:
    """For volumes, sandboxes and configuration. The kubelet retries every ten seconds; here the first retries are sooner."""
    return times.later(at, backoff.exponential_delay(failures, 1, INITIAL_DELAY))


def _doubled(delay: int) -> int:
    return min(2 * delay, CONTAINER_MAX_DELAY) if delay else INITIAL_DELAY


def _span(state: object) -> tuple[dt.datetime | None, dt.datetime | None]:
    match state:
        case Exited(status=status) if status is not None:
            return status.started, status.finished
        case StartFailure(at=at):
            return at, at
        case _:
            return None, None
