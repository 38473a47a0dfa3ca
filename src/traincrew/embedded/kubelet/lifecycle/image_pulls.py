"""The waiting reason of an image without environment: first the pull error, then the back-off."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle import backoff
from traincrew.embedded.kubelet.lifecycle.observed import StartFailure

_ERROR_SECONDS = 2.0
"""Seconds that the error is reported before the back-off. The kubelet reports it until its next sync of the pod."""


class ImageWaitingReason(NamedTuple):
    reason: str
    message: str


def backoff_starts_at(failure: StartFailure) -> dt.datetime | None:

    return times.later(failure.at, _ERROR_SECONDS) if backoff.is_image_failure(failure) else None


def is_backing_off(failure: StartFailure, now: dt.datetime) -> bool:
    moment = backoff_starts_at(failure)
    return moment is not None and now >= moment


def waiting_reason(failure: StartFailure, image: str, now: dt.datetime) -> ImageWaitingReason:
    if is_backing_off(failure, now):
        return ImageWaitingReason("ImagePullBackOff", f'Back-off pulling image "{image}": {failure.reason}: {failure.message}')
    return ImageWaitingReason(failure.reason, failure.message)
