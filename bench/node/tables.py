"""The figures beside their goals."""

from __future__ import annotations

from typing import Any

Row = tuple[str, str, str, bool | None]
"""What, how much, the goal, whether it is reached (None: no goal)."""


def table(results: dict[str, Any]) -> str:
    rows = [*_startup(results), *_burst(results), *_launchers(results)]
    lines = [f"  {'measured':<64}{'here':>10}{'goal':>10}"]
    for what, value, goal, good in rows:
        verdict = "" if good is None else "ok" if good else "MISSED"
        lines.append(f"  {what:<64}{value:>10}{goal:>10}  {verdict}")
    return "\n".join(lines)


def percentile(values: list[float], share: float) -> float:
    return values[min(int(len(values) * share), len(values) - 1)]


def _startup(results: dict[str, Any]) -> list[Row]:
    fresh, again, starts = results["up"]["fresh"], results["up"]["again"], results["starts"]
    half, most = percentile(starts, 0.5), percentile(starts, 0.99)
    return [
        ("up to ready, new cluster, s", f"{fresh:.2f}", "<= 1.5", fresh <= 1.5),
        ("up to ready, again, s", f"{again:.2f}", "<= 1.5", again <= 1.5),
        (f"bound to first instruction, p50 of {len(starts)} pods, ms", f"{half:.0f}", "<= 50", half <= 50),
        ("bound to first instruction, p99, ms", f"{most:.0f}", "<= 50", most <= 50),
    ]


def _burst(results: dict[str, Any]) -> list[Row]:
    burst, count = results["burst"], results["pods"]
    proportional = burst["daemon_proportional"]
    return [
        (f"{count} pods at once: all run after, s", f"{burst['running']:.1f}", "", None),
        (f"{count} pods at once: a pod, ms", f"{burst['running'] / count * 1000:.0f}", "", None),
        (f"{count} pods at once: all reported as ended after, s", f"{burst['ended']:.1f}", "", None),
        ("daemon without pods, resident MiB", f"{burst['empty']:.0f}", "<= 100", burst["empty"] <= 100),
        (f"daemon with {count} pods, resident MiB", f"{burst['daemon']:.0f}", "<= 100", burst["daemon"] <= 100),
        (f"daemon with {count} pods, proportional MiB", f"{proportional:.0f}", "<= 100", proportional <= 100),
        ("a shim, proportional MiB", f"{burst['shim']:.2f}", "<= 3", burst["shim"] <= 3),
        ("a container's first process, proportional MiB", f"{burst['init']:.2f}", "<= 3", burst["init"] <= 3),
    ]


def _launchers(results: dict[str, Any]) -> list[Row]:
    rows: list[Row] = [("traincrew ls, s: a command with one request", f"{results['command']:.2f}", "", None)]
    for name, each in results["launchers"].items():
        more = each["run"] - each["plain"]
        rows.append((f"{name}: the launcher alone, s", f"{each['plain']:.2f}", "", None))
        rows.append((f"{name}: traincrew run, s more", f"{more:+.2f}", "<= +0.5", more <= 0.5))
    return rows
