"""`python -m bench.apiserver`: prints a table and optionally writes JSON. Takes about four minutes; `--quick` one."""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile

from bench.apiserver import lag, measurements, tables
from bench.operator.measurements import calibration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000, help="how many are listed, and held in memory")
    parser.add_argument("--writes", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=100, help="that the operator works on while the event loop's lag is measured")
    parser.add_argument(
        "--directory", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()), help="on the disk to be used"
    )
    parser.add_argument("--quick", action="store_true", help="a fifth of everything: for a look, not for figures")
    parser.add_argument("--json", type=pathlib.Path, help="also write all figures here")
    options = parser.parse_args()
    if options.quick:
        options.pods, options.writes, options.jobs = 2000, 600, 20
    results = {"pods": options.pods, "calibration_seconds": round(calibration(), 3)}
    print(f"  calibration: {results['calibration_seconds']} s for a fixed piece of work of one core (2.2 GHz: about 0.5)")
    results |= measurements.compared(options.directory, options.pods, options.writes)
    results["start"] = measurements.starts(options.directory, 5)
    results["lag"] = lag.measured(options.directory, options.pods, 50, options.jobs)
    print(tables.table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
