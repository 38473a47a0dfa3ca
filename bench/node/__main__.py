"""`python -m bench.node`: prints a table and optionally writes JSON. Takes about two minutes; `--quick` one."""

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
    results: dict[str, Any] = {"pods": options.pods, "calibration_seconds": round(calibration(), 3)}
    print(f"  calibration: {results['calibration_seconds']} s for a fixed piece of work of one core (2.2 GHz: about 0.5)")
    results["up"] = ups(options.directory, options.times)
    with bench_cluster(options.directory) as cluster:
        launchers.prepare(cluster)
        cluster.up()
        results["starts"] = pods.starts(cluster, options.starts)
        results["burst"] = pods.burst(cluster, options.pods)
        results["command"] = launchers.command(cluster, options.times)
        results["launchers"] = launchers.measured(cluster, options.times)
    return results


def ups(parent: pathlib.Path, times: int) -> dict[str, float]:
    """Seconds until a cluster is ready that was not there before, and one that was."""
    fresh, again = [], []
    for _ in range(times):
        with bench_cluster(parent) as cluster:
            fresh.append(cluster.up())
            cluster.down()
            again.append(cluster.up())
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
    results = measure(options)
    print(tables.table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
