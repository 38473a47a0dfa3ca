"""Tables of the benchmark: medians, the least and the most, and whether the goal is met."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from bench.elastic import idle as idle_devices
from bench.elastic import spot_notice


def idle(results: Mapping[str, idle_devices.Found]) -> str:
    lines = [_header(_rounds(results))]
    for program, found in results.items():
        for name, values in found.items():
            goal, unit = idle_devices.GOALS[program].get(name, (None, "s"))
            lines.append(_row(f"{program}: {name}", values, goal, unit))
    return "\n".join(lines)


def spot(found: Mapping[str, Sequence[float]]) -> str:
    goals = {spot_notice.LEFT: spot_notice.GOAL}
    rows = [_row(f"Horovod: {name}", values, goals.get(name), "s") for name, values in found.items()]
    return "\n".join([_header(len(found[spot_notice.LEFT])), *rows])


def _rounds(results: Mapping[str, idle_devices.Found]) -> int:
    return max(len(values) for found in results.values() for values in found.values())


def _header(rounds: int) -> str:
    return f"{f'median of {rounds}':46} {'measured':>24}  goal"


def _row(name: str, values: Sequence[float], goal: float | None, unit: str) -> str:
    median = statistics.median(values)
    measured = f"{median:.1f} {unit} ({min(values):.1f}-{max(values):.1f})"
    verdict = "" if goal is None else f"  <= {goal:g} {unit}: {'met' if median <= goal else 'missed'}"
    return f"{name:46} {measured:>24}{verdict}"
