"""`python -m bench.node`: prints a table, writes JSON if asked. Takes about two minutes; `--quick` one."""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import tempfile
from typing import Any

from bench.node import launchers, pods, tables
from bench.node.bench_cluster import bench_cluster
from bench.operator.measurements import calibration


def measure(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"pods": options.pods, "calibration_seconds": round(calibration(), 3)}
    print(
        f"  calibration: {found['calibration_seconds']} s for a fixed piece of one core's work (2.2 GHz-class cores: about 0.5)"
    )
    found["up"] = ups(options.directory, options.times)
    with bench_cluster(options.directory) as made:
        launchers.prepare(made)
        made.up()
        found["starts"] = pods.starts(made, options.starts)
        found["crowd"] = pods.burst(made, options.pods)
        found["command"] = launchers.command(made, options.times)
        found["launching"] = launchers.measured(made, options.times)
    return found


def ups(parent: pathlib.Path, times: int) -> dict[str, float]:
    """Seconds until a cluster is ready that was not there before, and one that was."""
    fresh, again = [], []
    for _ in range(times):
        with bench_cluster(parent) as made:
            fresh.append(made.up())
            made.down()
            again.append(made.up())
    return {"fresh": statistics.median(fresh), "again": statistics.median(again)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=200, help="at once")
    parser.add_argument("--starts", type=int, default=100, help="pods started one by one")
    parser.add_argument("--times", type=int, default=5, help="that clusters are started, and jobs run")
    parser.add_argument(
        "--directory", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()), help="on the disk to be used"
    )
    parser.add_argument("--quick", action="store_true", help="less of everything: for a look, not for figures")
    parser.add_argument("--json", type=pathlib.Path, help="also write all figures here")
    options = parser.parse_args()
    if options.quick:
        options.pods, options.starts, options.times = 50, 20, 2
    found = measure(options)
    print(tables.table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
