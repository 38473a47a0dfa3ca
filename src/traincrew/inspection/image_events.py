"""What the kubelet of this machine says about the images of a job: they are not pulled, but run in an environment."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from traincrew.inspection import events

_UNMAPPED = re.compile(r'Image "(?P<image>[^"]+)" .*?\bthe default environment (?P<directory>/.+?)\. The image has no mapping\.')


class UnmappedImage(NamedTuple):
    image: str
    directory: str
    """Of the default environment, in which its containers run."""

    def __str__(self) -> str:
        return f"image {self.image} has no mapping: its containers run in the default environment, {self.directory}"

    @property
    def remedy(self) -> str:
        return (
            f"Run `traincrew image set {shlex.quote(self.image)} --env-dir DIR` to run image {self.image} in another environment."
        )


def message(recorded: Sequence[events.ListedEvent], pod: str) -> str:
    """About the image of the pod; empty if there is none. Messages about init containers come first."""
    found = [each.message for each in _pulled(recorded) if each.involved_object.name == pod]
    return found[-1] if found else ""


def unmapped(recorded: Sequence[events.ListedEvent]) -> list[UnmappedImage]:
    """A job with such images may succeed in an environment that is not the one that was meant."""
    matches = (_UNMAPPED.match(each.message) for each in _pulled(recorded))
    return list(dict.fromkeys(UnmappedImage(match["image"], match["directory"]) for match in matches if match is not None))


def _pulled(recorded: Sequence[events.ListedEvent]) -> list[events.ListedEvent]:
    return [event for event in events.in_order(recorded) if event.reason == "Pulled"]
