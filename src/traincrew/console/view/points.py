"""Points of a series over time: at most so many, and the whole time is kept."""

from __future__ import annotations

import dataclasses
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Counted(NamedTuple, Generic[T]):
    """A series, and how often it was thinned out. A page that has it must get all of it again after that."""

    series: T
    thinned: int


@dataclasses.dataclass
class Points(Generic[T]):
    """If there are too many points, every second one is dropped, and from then on every second new one is not kept."""

    limit: int
    times: list[int] = dataclasses.field(default_factory=list)
    values: list[T] = dataclasses.field(default_factory=list)
    added: int = 0
    """Points that were given."""
    stride: int = 1
    thinned: int = 0
    """How often every second point was dropped."""

    def add(self, time: int, value: T) -> None:
        keep = self.added % self.stride == 0
        self.added += 1
        if not keep:
            return
        self.times.append(time)
        self.values.append(value)
        if len(self.times) > self.limit:
            self.times, self.values = self.times[::2], self.values[::2]
            self.stride *= 2
            self.thinned += 1
