"""Jobs with the marginals of a public trace of GPU jobs (Philly, ATC 2019). The numbers are here, the trace is not."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

GPUS = ((1, 0.932), (2, 0.022), (4, 0.023), (8, 0.020), (16, 0.003))
QUANTILES = ((0.0, 10.0), (0.25, 115.0), (0.5, 1144.0), (0.75, 2932.0), (0.9, 11264.0), (0.95, 43642.0), (1.0, 86400.0))
"""Of the duration in seconds. Between them it is interpolated logarithmically."""
HOURS = tuple(0.0417 + 0.018 * math.sin((hour - 9) * math.pi / 12) for hour in range(24))
"""The part of the day's arrivals in each hour: 2.4 to 6 %."""
DAY = 86400.0


@dataclasses.dataclass(frozen=True)
class TraceJob:
    arrival: float
    gpus: int
    seconds: float
    """With the GPUs that it asks for."""
    elastic: bool


def jobs(seed: int, days: float, load: float, capacity: int, elastic: float) -> list[TraceJob]:
    """Arrivals whose requests are `load` times the capacity. elastic: the part of jobs that adapt."""
    chance, found = random.Random(seed), list[TraceJob]()
    demand, wanted = 0.0, load * capacity * days * DAY
    while demand < wanted:
        gpus, seconds = _gpus(chance), _seconds(chance)
        found.append(TraceJob(_arrival(chance, days), gpus, seconds, chance.random() < elastic))
        demand += gpus * seconds
    return sorted(found, key=lambda job: job.arrival)


def _gpus(chance: random.Random) -> int:
    return chance.choices([count for count, _ in GPUS], [weight for _, weight in GPUS])[0]


def _seconds(chance: random.Random) -> float:
    point = chance.random()
    for (low, before), (high, after) in itertools.pairwise(QUANTILES):
        if point <= high:
            return float(math.exp(math.log(before) + (math.log(after) - math.log(before)) * (point - low) / (high - low)))
    return QUANTILES[-1][1]


def _arrival(chance: random.Random, days: float) -> float:
    while True:
        moment = chance.random() * days * DAY
        if chance.random() * max(HOURS) <= HOURS[int(moment % DAY // 3600)]:
            return moment
