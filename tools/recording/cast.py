"""A captured terminal session, in the format of asciinema (version 2): a header, then one line for each piece of output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Output(NamedTuple):
    seconds: float
    """Since the start of the session."""
    text: str


class Cast(NamedTuple):
    width: int
    height: int
    outputs: tuple[Output, ...]


def dump(cast: Cast) -> str:
    header = {"version": 2, "width": cast.width, "height": cast.height}
    lines = [json.dumps(header), *(json.dumps([round(each.seconds, 3), "o", each.text]) for each in cast.outputs)]
    return "\n".join(lines) + "\n"


def load(text: str) -> Cast:
    header, *lines = (json.loads(line) for line in text.splitlines())
    return Cast(header["width"], header["height"], tuple(Output(seconds, data) for seconds, _, data in lines))


def with_shorter_pauses(outputs: Sequence[Output], longest: float) -> Iterator[Output]:
    """The same output; what was waited longer for than that comes after that time."""
    before = moment = 0.0
    for each in outputs:
        moment += min(each.seconds - before, longest)
        before = each.seconds
        yield Output(moment, each.text)
