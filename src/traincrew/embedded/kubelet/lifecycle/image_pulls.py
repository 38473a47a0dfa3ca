"""How an image that no environment stands in for is told, in turn as the failure and as the waiting that follows."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import backoff
from traincrew.embedded.kubelet.lifecycle.facts import Refused

_SHOWN = 2.0
"""Seconds that the failure itself is shown; a kubelet does so until it looks at the pod again."""


class Told(NamedTuple):
    reason: str
    message: str


def turns(refused: Refused) -> dt.datetime | None:
    """When the failure becomes a back-off."""
    return times.later(refused.at, _SHOWN) if backoff.is_of_image(refused) else None


def backing_off(refused: Refused, now: dt.datetime) -> bool:
    moment = turns(refused)
    return moment is not None and now >= moment


def told(refused: Refused, image: str, now: dt.datetime) -> Told:
    if backing_off(refused, now):
        return Told("ImagePullBackOff", f'Back-off pulling image "{image}": {refused.reason}: {refused.message}')
    return Told(refused.reason, refused.message)
