"""How long Horovod Elastic takes to grow and to shrink, under the operator and by hand.

By hand is the floor: three workers run already, and a discovery script that we write ourselves names two of them, then three,
then one. Under the operator the same script starts with two workers, and `kubectl patch` asks for three, then for one, so a pod
must be created and listed on top. Both take turns on one cluster; the figures are the medians.

What the operator adds is the difference of two long times, so it is also measured by itself: how long it takes until the list of
hosts is as it was asked for, which by hand takes as long as one `kubectl exec`, and until the ring stops to change.
"""

from __future__ import annotations

import pathlib
import re
import statistics
import tempfile
import time
from concurrent import futures
from typing import Any, NamedTuple

import yaml
from tests.seeds import launcher_logs
from tests.seeds.clusters import EXAMPLES, Cluster

GOAL = 1.0
"""Seconds that the operator may add."""
_SCRIPT = "/examples/mpi/horovod-elastic/tensorflow2_mnist_elastic.py"
_BY_HAND = f"""while [ ! -x /tmp/hosts.sh ]; do sleep 0.1; done
exec horovodrun -np 2 --min-np 1 --max-np 3 --host-discovery-script /tmp/hosts.sh python {_SCRIPT}"""


class Times(NamedTuple):
    """Seconds from the request."""

    step: float
    listed: float
    heard: float
    """Until the ring stopped to change; what follows is Horovod's alone, and with a new worker the import of TensorFlow."""


Found = dict[str, list[tuple[Times, Times]]]
_STEP = re.compile(r"world=(\d+) host=(\S+) batch=(\d+) loss=\S+ t=([\d.]+)")


def job(name: str, workers: int, *, by_hand: bool) -> dict[str, Any]:
    results: dict[str, Any] = yaml.safe_load((EXAMPLES / "mpi/horovod-elastic/job.yaml").read_text())
    results["metadata"]["name"] = name
    roles = results["spec"]["mpiReplicaSpecs"]
    roles["Worker"]["replicas"] = workers
    launcher = roles["Launcher"]["template"]["spec"]["containers"][0]
    # Steps are printed every ten batches: short ones, so that the first is seen when it happens.
    launcher["env"] = [{"name": "EXAMPLE_BATCHES", "value": "1000000"}, {"name": "EXAMPLE_PAUSE", "value": "0.01"}]
    if by_hand:
        launcher["command"], launcher["args"] = ["sh", "-c"], [_BY_HAND]
    return results


def list_by_hand(cluster: Cluster, name: str, workers: int) -> None:
    lines = "".join(f"echo {name}-worker-{index}:1\\n" for index in range(workers))
    write = f"printf '#!/bin/sh\\n{lines}' > /tmp/next && chmod 755 /tmp/next && mv /tmp/next /tmp/hosts.sh"
    cluster.kubectl("exec", f"{name}-launcher", "--", "sh", "-c", write)


def listed(cluster: Cluster, name: str, workers: int, by_hand: bool) -> float:
    """When the launcher's own list names so many workers."""
    script = "/tmp/hosts.sh" if by_hand else "/etc/mpi/discover_hosts.sh"  # noqa: S108
    look = f"until [ $({script} | grep -c ':1$') = {workers} ]; do sleep 0.05; done; date +%s.%N"
    return float(cluster.kubectl("exec", f"{name}-launcher", "--", "sh", "-c", look))


def steps(cluster: Cluster, name: str, workers: int, requested: float) -> tuple[float, float]:
    """Times of the last step of the ring with the old size and of the first with the new size."""
    cluster.says(f"{name}-launcher", rf"world={workers} host={name}-worker-{workers - 1} batch=\d+ loss")
    steps_seen = [(int(size), host, float(at)) for size, host, _, at in _STEP.findall(cluster.log(f"{name}-launcher"))]
    first = min(at for size, host, at in steps_seen if size == workers and host.endswith(f"-{workers - 1}") and at > requested)
    return max(at for size, _, at in steps_seen if size != workers and at < first), first


def change(cluster: Cluster, name: str, workers: int, by_hand: bool) -> Times:
    with futures.ThreadPoolExecutor(1) as beside:
        looking = beside.submit(listed, cluster, name, workers, by_hand)
        time.sleep(1)  # so that it looks already
        requested = time.time()
        (list_by_hand if by_hand else launcher_logs.patch)(cluster, name, workers)
        last, first = steps(cluster, name, workers, requested)
        return Times(first - requested, looking.result() - requested, last - requested)


def measure(cluster: Cluster, folder: pathlib.Path, name: str, by_hand: bool) -> tuple[Times, Times]:
    """To grow from two to three, and to shrink to one."""
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(job(name, 3 if by_hand else 2, by_hand=by_hand)))
    cluster.kubectl("create", "-f", str(path))
    if by_hand:
        cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}-launcher", "--timeout=120s")
        list_by_hand(cluster, name, 2)
    cluster.says(f"{name}-launcher", r"world=2 host=\S+ batch=50 ")
    results = change(cluster, name, 3, by_hand), change(cluster, name, 1, by_hand)
    cluster.delete(f"mpijob/{name}")
    return results


def measure_all(rounds: int) -> Found:
    results: Found = {"by hand": [], "operator": []}
    cluster = Cluster(lambda line: print(f"  {line}", flush=True))
    try:
        cluster.up()
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(rounds):
                for way, times in results.items():
                    times.append(measure(cluster, pathlib.Path(folder), f"{way.replace(' ', '-')}-{turn}", way == "by hand"))
    finally:
        cluster.close()
    return results


def table(results: Found) -> str:
    """Medians, and in brackets the least and the most: imports of TensorFlow take what a busy machine leaves them."""
    lines = [f"{'median of ' + str(len(results['operator'])):38} {'by hand':>22} {'operator':>22} {'added':>8}  goal"]
    for place, what in enumerate(("2 -> 3: the new worker's first step", "3 -> 1: the next step of the other")):
        for part, name in enumerate((what, "        the host list is current", "        the ring has changed")):
            floor, ours = ([each[place][part] for each in results[way]] for way in ("by hand", "operator"))
            added = statistics.median(ours) - statistics.median(floor)
            verdict = "met" if added <= GOAL else "missed"
            lines.append(f"{name:38} {_range(floor):>22} {_range(ours):>22} {added:>6.2f} s  <= {GOAL:.0f} s: {verdict}")
    return "\n".join(lines)


def _range(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.1f}-{max(seconds):.1f})"
