"""Lists of random faults. A seed gives the same list each time."""

from __future__ import annotations

import os
import random
from typing import NamedTuple

COUNT = 20
KINDS = (
    "kill a worker", "delete a worker", "evict a worker", "kill a kubelet", "kill the operator", "kill the API server",
    "cut off a node", "power off a node", "announce the end of a node", "drain a node", "start another job", "lower the quota",
    "scale a job",
)  # fmt: skip
SEEDS_VARIABLE = "TRAINCREW_FAULT_SEEDS"


class Fault(NamedTuple):
    kind: str
    target: int
    """Chooses among what there is when the fault is injected."""
    size: int
    seconds: float
    """How long it lasts, if it does not end at once."""
    pause: float
    """The time until the next fault."""

    def __str__(self) -> str:
        numbers = f"target {self.target}, size {self.size}, {self.seconds:.0f} s, then {self.pause:.0f} s"
        return f"{self.kind} ({numbers})"


def draw(seed: int, kinds: tuple[str, ...] = KINDS) -> list[Fault]:
    rng = random.Random(seed)
    return [
        Fault(rng.choice(kinds), rng.randrange(1000), rng.randint(1, 4), rng.uniform(5, 40), rng.uniform(1, 10))
        for _ in range(COUNT)
    ]


def seeds() -> list[int]:
    """Of the variable, such as `3,7`. By default 1 to 10."""
    given = os.environ.get(SEEDS_VARIABLE, "")
    return [int(each) for each in given.split(",")] if given else list(range(1, 11))
