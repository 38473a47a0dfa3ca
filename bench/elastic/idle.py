"""Idle devices: how fast an elastic job takes them, gives them back to a job that waits, and what both cost it.

One machine has four devices. A job of two workers takes a third device when another job ends, and gives it back to a job that
waits. Then it loses a worker without a notice.
"""

from __future__ import annotations

import collections
import pathlib
import tempfile
import time

from tests.cluster.api import Object
from tests.seeds.clusters import Cluster
from tests.seeds.test_elastic_idle import create, waiting_job

from bench.elastic import step_log, waiting
from bench.elastic.programs import HOROVOD, TORCHRUN, Program

FLAGS = ("--resize-budget", "1")
"""With the default budget, a job grows a second time after minutes. The time that devices must be idle is the default."""
SETTLE = 10.0
_SPACING = 10
"""Steps between two printed lines of the Horovod example, which are its commits, too."""

CREATED, TRAINS = "free -> worker created", "free -> it trains"
OFF_LIST, BOUND, GROWN_PAUSE = "claim -> worker leaves the list", "claim -> the other job is bound", "pause of growing"
SHRUNK_PAUSE, LOST_NOTICED, LOST_SUDDENLY = "pause of giving back", "steps lost by giving back", "steps lost with a worker"
Goals = dict[str, tuple[float, str]]
GOALS: dict[str, Goals] = {
    HOROVOD.name: {
        CREATED: (SETTLE + 1, "s"), TRAINS: (35, "s"), OFF_LIST: (1, "s"), BOUND: (8, "s"),
        LOST_NOTICED: (0, "steps"), LOST_SUDDENLY: (_SPACING, "steps"),
    },
    TORCHRUN.name: {
        CREATED: (SETTLE + 1, "s"), TRAINS: (35, "s"), OFF_LIST: (1, "s"), BOUND: (5, "s"),
        LOST_NOTICED: (TORCHRUN.lost_steps, "steps"), LOST_SUDDENLY: (TORCHRUN.lost_steps, "steps"),
    },
}  # fmt: skip
"""What elasticity was designed for; medians. Pauses have no goal of their own: the budget pays for them."""

Found = dict[str, list[float]]


def measure(rounds: int) -> dict[str, Found]:
    """By program and measure."""
    results: dict[str, Found] = {program.name: collections.defaultdict(list) for program in (HOROVOD, TORCHRUN)}
    cluster = Cluster(lambda line: print(f"  {line}", flush=True), *FLAGS)
    try:
        cluster.up()
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(rounds):
                for program in (HOROVOD, TORCHRUN):
                    for name, value in _round(cluster, program, pathlib.Path(folder)).items():
                        results[program.name][name].append(value)
    finally:
        cluster.close()
    return results


def _round(cluster: Cluster, program: Program, folder: pathlib.Path) -> dict[str, float]:
    create(cluster, folder, waiting_job(2))
    waiting.until(lambda: _bound(cluster) == 2)
    program.submit(cluster, folder)
    rank_0 = program.worker(0)
    step_log.first(cluster, program.log_of(rank_0), world=2, host=rank_0, after=0)
    found = {**_grow(cluster, program), **_give_back(cluster, program, folder), **_end_suddenly(cluster, program)}
    cluster.delete("tfjob/mnist")
    cluster.delete(f"{program.resource}/{program.job}")
    return found


def _grow(cluster: Cluster, program: Program) -> dict[str, float]:
    cluster.delete("tfjob/mnist")
    free, third = time.time(), program.worker(2)
    waiting.until(lambda: cluster.api.find("pods", "default", third) is not None)
    created = time.time()
    step = step_log.first(cluster, program.log_of(third), world=3, host=third, after=free)
    pause = _pause(cluster, program, step.at - 1, world=3)
    return {CREATED: created - free, TRAINS: step.at - free, GROWN_PAUSE: pause}


def _end_suddenly(cluster: Cluster, program: Program) -> dict[str, float]:
    """Without a grace period, as when a node ends; until the replacement trains."""
    rank_0, lost = program.worker(0), program.worker(1)
    before = {pod["metadata"]["uid"] for pod in _workers(cluster, program)}
    ended = time.time()
    cluster.kubectl("delete", "pod", lost, "--grace-period=0", "--force")
    waiting.until(lambda: any(pod["metadata"]["uid"] not in before for pod in _workers(cluster, program)))
    new = next(pod["metadata"]["name"] for pod in _workers(cluster, program) if pod["metadata"]["uid"] not in before)
    step_log.first(cluster, program.log_of(new), world=2, host=new, after=ended + 1)
    return {LOST_SUDDENLY: step_log.lost(step_log.read(cluster, program.log_of(rank_0)), ended)}


def _workers(cluster: Cluster, program: Program) -> list[Object]:
    labels = f"training.kubeflow.org/job-name={program.job},training.kubeflow.org/replica-type=worker"
    return cluster.api.all("pods", "default", labels)


def _give_back(cluster: Cluster, program: Program, folder: pathlib.Path) -> dict[str, float]:
    claimed = time.time()
    create(cluster, folder, waiting_job(2))
    waiting.until(lambda: _members(cluster, program) == 2)
    off_list = time.time()
    waiting.until(lambda: _bound(cluster) == 2)
    bound = time.time()
    rank_0 = program.worker(0)
    step_log.first(cluster, program.log_of(rank_0), world=2, host=rank_0, after=claimed)
    lost = step_log.lost(step_log.read(cluster, program.log_of(rank_0)), claimed)
    pause = _pause(cluster, program, claimed, world=2)
    return {OFF_LIST: off_list - claimed, BOUND: bound - claimed, SHRUNK_PAUSE: pause, LOST_NOTICED: lost}


def _pause(cluster: Cluster, program: Program, after: float, *, world: int) -> float:
    """Between the last step of rank 0 in the ring of the old size and its first one in a ring of the new size."""
    rank_0 = program.worker(0)
    first = step_log.first(cluster, program.log_of(rank_0), world=world, host=rank_0, after=after)
    steps = [each for each in step_log.read(cluster, program.log_of(rank_0)) if each.host == rank_0 and each.at < first.at]
    return first.at - max(each.at for each in steps if each.world != world)


def _members(cluster: Cluster, program: Program) -> int:
    """The workers that the status lists, from a text as `0-2`."""
    status = cluster.get(program.resource, program.job)["status"]
    count = 0
    for part in status.get("elastic", {}).get("members", "").split(","):
        begin, _, end = part.partition("-")
        count += int(end or begin) - int(begin) + 1 if begin else 0
    return count


def _bound(cluster: Cluster) -> int:
    pods = cluster.api.all("pods", "default", "training.kubeflow.org/job-name=mnist")
    return sum(bool(pod["spec"].get("nodeName")) for pod in pods)
