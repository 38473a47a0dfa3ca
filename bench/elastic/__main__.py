"""`python -m bench.elastic`: how long Horovod Elastic takes to grow and to shrink, under the operator and by hand.

By hand is the floor: three workers run already, and a discovery script that we write ourselves names two of them, then three,
then one. Under the operator the same script starts with two workers, and `kubectl patch` asks for three, then for one, so a pod
must be made and listed on top. Both take turns on one cluster; the figures are the medians.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile
import time
from typing import Any

import yaml
from tests.seeds.clusters import EXAMPLES, Cluster

GOAL = 1.0
"""Seconds that the operator may add."""
_SCRIPT = "/examples/mpi/horovod-elastic/tensorflow2_mnist_elastic.py"
_BY_HAND = f"""while [ ! -x /tmp/hosts.sh ]; do sleep 0.1; done
exec horovodrun -np 2 --min-np 1 --max-np 3 --host-discovery-script /tmp/hosts.sh python {_SCRIPT}"""
_STEP = re.compile(r"world=(\d+) host=(\S+) batch=(\d+) loss=\S+ t=([\d.]+)")


def job(name: str, workers: int, *, by_hand: bool) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / "mpi/horovod-elastic/job.yaml").read_text())
    found["metadata"]["name"] = name
    roles = found["spec"]["mpiReplicaSpecs"]
    roles["Worker"]["replicas"] = workers
    launcher = roles["Launcher"]["template"]["spec"]["containers"][0]
    # Steps are printed every ten batches: short ones, so that the first is seen when it happens.
    launcher["env"] = [{"name": "EXAMPLE_BATCHES", "value": "1000000"}, {"name": "EXAMPLE_PAUSE", "value": "0.01"}]
    if by_hand:
        launcher["command"], launcher["args"] = ["sh", "-c"], [_BY_HAND]
    return found


def list_by_hand(cluster: Cluster, name: str, workers: int) -> None:
    lines = "".join(f"echo {name}-worker-{index}:1\\n" for index in range(workers))
    write = f"printf '#!/bin/sh\\n{lines}' > /tmp/next && chmod 755 /tmp/next && mv /tmp/next /tmp/hosts.sh"
    cluster.kubectl("exec", f"{name}-launcher", "--", "sh", "-c", write)


def patch(cluster: Cluster, name: str, workers: int) -> None:
    change = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}}
    cluster.kubectl("patch", "mpijob", name, "--type", "merge", "-p", json.dumps(change))


def first_step(cluster: Cluster, name: str, workers: int, asked: float) -> float:
    """Seconds from then to the first step that a ring of that size told of."""
    cluster.says(f"{name}-launcher", rf"world={workers} host={name}-worker-{workers - 1} batch=\d+ loss")
    told = _STEP.findall(cluster.log(f"{name}-launcher"))
    moments = [float(at) for size, host, _, at in told if int(size) == workers and host.endswith(f"-{workers - 1}")]
    return next(moment for moment in moments if moment > asked) - asked


def measure(cluster: Cluster, folder: pathlib.Path, name: str, *, by_hand: bool) -> tuple[float, float]:
    """Seconds to grow from two to three, and to shrink to one."""
    change = list_by_hand if by_hand else patch
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(job(name, 3 if by_hand else 2, by_hand=by_hand)))
    cluster.kubectl("create", "-f", str(path))
    if by_hand:
        cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}-launcher", "--timeout=120s")
        list_by_hand(cluster, name, 2)
    cluster.says(f"{name}-launcher", r"world=2 host=\S+ batch=50 ")
    found = []
    for workers in (3, 1):
        asked = time.time()
        change(cluster, name, workers)
        found.append(first_step(cluster, name, workers, asked))
    cluster.delete(f"mpijob/{name}")
    return found[0], found[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {"by hand": [], "operator": []}
    cluster = Cluster(lambda line: print(f"  {line}", flush=True))
    try:
        cluster.up()
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(options.rounds):
                for way in found:
                    name = f"{way.replace(' ', '-')}-{turn}"
                    found[way].append(measure(cluster, pathlib.Path(folder), name, by_hand=way == "by hand"))
    finally:
        cluster.close()
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found) + "\n")
    return 0


def table(found: dict[str, list[tuple[float, float]]]) -> str:
    lines = [f"{'change':34} {'by hand':>8} {'operator':>9} {'added':>7}  goal"]
    for place, what in enumerate(("2 -> 3: the new worker's first step", "3 -> 1: the next step of the other")):
        floor, ours = (statistics.median(each[place] for each in found[way]) for way in ("by hand", "operator"))
        verdict = "met" if ours - floor <= GOAL else "missed"
        lines.append(f"{what:34} {floor:>6.1f} s {ours:>7.1f} s {ours - floor:>5.1f} s  <= {GOAL:.0f} s: {verdict}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
