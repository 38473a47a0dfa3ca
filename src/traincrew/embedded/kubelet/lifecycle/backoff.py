"""How long a container that ended, or could not be started, waits for its next attempt: by the kubelet's rules."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle.facts import ContainerFacts, Ended, Refused

FIRST, LONGEST = 10, 300
_CALM = dt.timedelta(seconds=2 * LONGEST)
"""A container that ran longer begins anew."""
_MADE = ("RunContainerError", "StartError")
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed")
BY_PROBES = ("liveness", "startup")
"""Reasons of a Stop after which the kubelet starts anew in the same breath."""


class Wait(NamedTuple):
    until: dt.datetime | None
    """None: not at all."""
    delay: int
    """The seconds that it waits, as the message says."""
    following: int
    """The delay that is remembered for the attempt that follows."""


def used_up(last: object) -> bool:
    """Whether the attempt's number is taken."""
    return isinstance(last, Ended) or (isinstance(last, Refused) and last.reason in _MADE)


def remembered(facts: ContainerFacts) -> int:
    if facts.backoff is not None:
        return facts.backoff
    attempt = facts.last.attempt if facts.last is not None else 0
    return min(FIRST << min(attempt - 1, 8), LONGEST) if attempt > 0 else 0


def after_end(facts: ContainerFacts) -> Wait:
    """After an attempt that used its number up."""
    began, ended = _span(facts.last)
    delay = remembered(facts)
    if ended is None:
        return Wait(None, 0, _doubled(delay))
    if began is not None and ended - began > _CALM:
        return Wait(None, 0, FIRST)
    if isinstance(facts.last, Ended) and facts.last.stopped in BY_PROBES:
        # The kubelet looks at the attempt before this one: that is the latest that had ended when it decided.
        before = _span(facts.history[0])[1] if facts.history else None
        if before is None:
            return Wait(None, 0, delay)
        if ended - before >= dt.timedelta(seconds=delay):
            return Wait(None, 0, _doubled(delay))
    if delay == 0:
        return Wait(None, 0, FIRST)
    return Wait(times.later(ended, delay), delay, _doubled(delay))


def after_refusal(refused: Refused) -> dt.datetime:
    """When to try again what left nothing behind."""
    if refused.reason in _IMAGE:
        return times.later(refused.at, min(FIRST << min(refused.times - 1, 8), LONGEST))
    return retry(refused.at, refused.times)


def is_of_image(refused: Refused) -> bool:
    return refused.reason in _IMAGE


def retry(at: dt.datetime, failed: int) -> dt.datetime:
    """For volumes, sandboxes, configuration: the kubelet tries every ten seconds; on one machine what is missing comes sooner."""
    return times.later(at, min(1 << min(failed - 1, 8), FIRST))


def _doubled(delay: int) -> int:
    return min(2 * delay, LONGEST) if delay else FIRST


def _span(last: object) -> tuple[dt.datetime | None, dt.datetime | None]:
    match last:
        case Ended(exit=known) if known is not None:
            return known.started, known.finished
        case Refused(at=at):
            return at, at
        case _:
            return None, None
