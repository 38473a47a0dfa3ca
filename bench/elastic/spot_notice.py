"""A spot node is announced to end: how fast the ring goes on without it, over two nodes of a real Kubernetes."""

from __future__ import annotations

import pathlib
import tempfile
import time

from tests.seeds import joined_nodes
from tests.seeds.test_elastic_idle import JOB, LAUNCHER
from tests.seeds.test_joined_losses import SPOT_NOTICE, submit_ring, worker_on

from bench.elastic import step_log, waiting

GOAL = 8.0
"""Seconds until the worker is gone. Some providers give a notice of 15 seconds."""

LEFT, TRAINS = "notice -> the worker is gone", "notice -> the ring trains without it"
"""If the replacement runs before the others go on, Horovod waits for its imports."""


def measure(rounds: int) -> dict[str, list[float]]:
    with joined_nodes.joined(lambda line: print(f"  {line}", flush=True)) as nodes:
        nodes.steady.kubectl("label", "node", "spot", "karpenter.sh/capacity-type=spot")
        with tempfile.TemporaryDirectory() as folder:
            found = [_round(nodes, pathlib.Path(folder)) for _ in range(rounds)]
    return {LEFT: [left for left, _ in found], TRAINS: [trains for _, trains in found]}


def _round(nodes: joined_nodes.Nodes, folder: pathlib.Path) -> tuple[float, float]:
    cluster = nodes.steady
    submit_ring(cluster, folder)
    leaving = worker_on(cluster, "spot")
    cluster.kubectl("taint", "node", "spot", f"{SPOT_NOTICE}=now:NoSchedule")
    announced = time.time()
    waiting.until(lambda: cluster.api.find("pods", "default", leaving) is None)
    left = time.time()
    step = step_log.first_without(cluster, LAUNCHER, leaving, after=announced)
    cluster.kubectl("taint", "node", "spot", f"{SPOT_NOTICE}-")
    cluster.delete(f"mpijob/{JOB}")
    return left - announced, step.at - announced
