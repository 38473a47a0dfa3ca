"""`python -m bench.elastic`: what it takes elastic jobs to change their size.

by-hand: Horovod Elastic under the operator, and without it as the floor. idle: real Horovod and real torchrun on idle devices of
one machine. spot: a ring on a spot node that is announced to end, over two nodes of a real Kubernetes.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

from bench.elastic import by_hand, idle, spot_notice, tables

PARTS = ("by-hand", "idle", "spot")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", choices=PARTS, action="append", help="measure this part only; may be repeated")
    parser.add_argument("--json", type=pathlib.Path, help="write the single measurements to this file")
    options = parser.parse_args()
    results: dict[str, object] = {}
    for part in options.part or PARTS:
        if part == "by-hand":
            results[part] = found = by_hand.measure_all(options.rounds)
            print(by_hand.table(found), flush=True)
        elif part == "idle":
            results[part] = times = idle.measure(options.rounds)
            print(tables.idle(times), flush=True)
        else:
            results[part] = seconds = spot_notice.measure(options.rounds)
            print(tables.spot(seconds), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
