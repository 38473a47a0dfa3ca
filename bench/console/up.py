"""python -m bench.console.up [--times 7]: `traincrew up` with console and recorder, and without (--no-console), in turns."""

from __future__ import annotations

import argparse
import pathlib
import statistics
import tempfile
from typing import NamedTuple

from bench.node import bench_cluster
from bench.node.bench_cluster import BenchCluster

WITHOUT = "--no-console"
MOST = 10.0
"""Percent that console and recorder may cost."""


class Start(NamedTuple):
    """A field for each row."""

    ready: float
    cpu: float
    memory: float


ROWS = {
    "ready": "up to ready, s",
    "cpu": "CPU of the daemon until then, s",
    "memory": "memory of its processes, proportional MiB",
}


def start(cluster: BenchCluster, *options: str) -> Start:
    ready = cluster.up(*options)
    pid = cluster.pid()
    cpu, memory = bench_cluster.cpu_seconds(pid), sum(map(bench_cluster.proportional, bench_cluster.tree(pid)))
    cluster.down()
    return Start(ready, cpu, memory)


def measure(parent: pathlib.Path, times: int) -> dict[str, list[Start]]:
    """In turns: other work of the machine slows both down."""
    found: dict[str, list[Start]] = {"": [], WITHOUT: []}
    with bench_cluster.bench_cluster(parent) as cluster:
        start(cluster)  # creates the cluster, and compiles what is compiled once
        for turn in range(times):
            for option in sorted(found, reverse=turn % 2 == 1):
                found[option].append(start(cluster, *filter(None, [option])))
    return found


def table(found: dict[str, list[Start]]) -> str:
    lines = [f"{'median of ' + str(len(found[''])):<46}{'with':>8}{'without':>9}{'more':>8}"]
    for field, what in ROWS.items():
        with_console, without = (statistics.median(getattr(each, field) for each in found[option]) for option in ("", WITHOUT))
        more = (with_console / without - 1) * 100
        verdict = "ok" if more <= MOST else "MISSED"
        lines.append(f"{what:<46}{with_console:>8.2f}{without:>9.2f}{more:>+7.1f}%  {verdict}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.console.up")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()))
    wanted = parser.parse_args()
    print(table(measure(wanted.directory, wanted.times)))


if __name__ == "__main__":
    main()
