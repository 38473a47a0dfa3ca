"""The figures beside their goals."""

from __future__ import annotations

from typing import Any

Row = tuple[str, str, str, str, str, bool | None]
"""What, ours, the real one's, their ratio, the goal, whether it is reached (None: no goal)."""


def table(results: dict[str, Any]) -> str:
    rows = [*_rates(results), *_lists(results), *_rest(results)]
    lines = [f"  {'measured':<52}{'ours':>10}{'real':>10}{'ratio':>8}{'goal':>10}"]
    for what, ours, real, ratio, goal, good in rows:
        verdict = "" if good is None else "ok" if good else "MISSED"
        lines.append(f"  {what:<52}{ours:>10}{real:>10}{ratio:>8}{goal:>10}  {verdict}")
    lines.append("  the ratio of times is the real one's to ours where the goal is at least, else ours to the real one's")
    lines.append("  real: kube-apiserver and etcd with fsync on the same disk, in the same run; its lists carry managedFields")
    return "\n".join(lines)


def _rates(results: dict[str, Any]) -> list[Row]:
    names = {
        "create 1": "pods created a second, 1 connection", "create 16": "pods created a second, 16 connections",
        "create 64": "pods created a second, 64 connections", "patch": "merge patches of a pod's status a second, 16",
        "strategic": "strategic merge patches of it a second, 16", "get": "gets a second, 16 connections",
        "fanout": "events a second, each to 50 watchers",
    }  # fmt: skip
    rows = []
    for key, what in names.items():
        ours, real = results[key]["ours"]["rate"], results[key]["real"]["rate"]
        rows.append((what, f"{ours:.0f}", f"{real:.0f}", f"{ours / real:.2f}x", ">= 1x", ours >= real))
    spent = {side: results["many"][side]["server_cpu"] / results["many"][side]["count"] * 1000 for side in ("ours", "real")}
    rows.append(
        ("CPU of the servers per pod created, ms", *_low(spent["ours"], spent["real"], 2), "<= 0.6", spent["ours"] <= 0.6)
    )
    return rows


def _lists(results: dict[str, Any]) -> list[Row]:
    pods = f"{results['pods']:,} pods"
    names = {
        "json": f"list of {pods}, ms", "table": f"list of {pods} as a table, ms",
        "label": f"list of a twentieth of {pods} by label, ms", "pages": f"list of {pods} by pages of 500, ms",
    }  # fmt: skip
    rows = []
    for key, what in names.items():
        ours, real = (results[f"list {key}"][side]["seconds"] * 1000 for side in ("ours", "real"))
        rows.append((what, f"{ours:.0f}", f"{real:.0f}", f"{real / ours:.2f}x", ">= 1x", ours <= real))
    return rows


def _rest(results: dict[str, Any]) -> list[Row]:
    memory, empty, latency, start, lag = (results[key] for key in ("memory", "empty", "latency", "start", "lag"))
    held, other = memory["ours"]["memory"], memory["real"]["memory"]
    rows: list[Row] = [
        (
            f"memory with {results['pods']:,} pods and more, MiB",
            *_low(held, other, 0),
            "<= 0.5x",
            held <= other / 2,
        ),
        ("memory when empty, MiB", *_low(empty["ours"]["memory"], empty["real"]["memory"], 0), "", None),
        ("memory per pod, KiB", *_low(memory["ours"]["each"], memory["real"]["each"], 1), "", None),
    ]
    for share in ("p50", "p99"):
        mine, theirs = latency["ours"][share], latency["real"][share]
        rows.append((f"create to watch event, {share} ms", *_low(mine, theirs, 1), "", None))
    fresh = start["ours"]["fresh"]
    rows += [
        ("up to ready, new cluster, s", *_low(fresh, start["real"]["fresh"], 2), "<= 1.5", fresh <= 1.5),
        ("up to ready, again, s", f"{start['ours']['again']:.2f}", "", "", "<= 1.5", start["ours"]["again"] <= 1.5),
        ("event loop's lag with all at once, p99 ms", f"{lag['p99']:.1f}", "", "", "<= 50", lag["p99"] <= 50),
        ("  the worst of it, ms", f"{lag['worst']:.1f}", "", "", "", None),
    ]
    return rows


def _low(ours: float, real: float, digits: int) -> tuple[str, str, str]:
    """Figures of which less is better, with their ratio."""
    return f"{ours:.{digits}f}", f"{real:.{digits}f}", f"{ours / real:.2f}x"
