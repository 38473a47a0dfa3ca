"""Reads the log of an elastic launcher: the hosts of ranks, their progress, and the identity of the launcher."""

from __future__ import annotations

import dataclasses
import re

from tests.seeds.clusters import Cluster

COMMIT = 10
"""Batches between two commits of the elastic examples."""
_STEP = re.compile(r"rank=(\d+) world=(\d+) host=(\S+) batch=(\d+) ")
_BEGINNING = """for each in /proc/[0-9]*; do
  case "$(tr '\\0' ' ' < $each/cmdline 2>/dev/null)" in *horovodrun\\ -np*) cut -d' ' -f1,22 $each/stat;; esac
done | sort -n | head -1"""


@dataclasses.dataclass(frozen=True)
class Launcher:
    """The identity of the launcher, which must not change while workers are added and removed."""

    uid: str
    restarts: int
    horovodrun: str
    """Process ID and start time in ticks since boot."""


def launcher(cluster: Cluster, pod: str) -> Launcher:
    found = cluster.get("pod", pod)
    restarts = sum(each["restartCount"] for each in found["status"]["containerStatuses"])
    beginning = cluster.kubectl("exec", pod, "--", "sh", "-c", _BEGINNING).strip()
    assert re.fullmatch(r"\d+ \d+", beginning), beginning
    return Launcher(found["metadata"]["uid"], restarts, beginning)


def hosts(log: str, world: int) -> dict[int, str]:
    """The host of each rank in the last ring of this size."""
    return {int(rank): host for rank, size, host, _ in _STEP.findall(log) if int(size) == world}


def patch(cluster: Cluster, job: str, workers: int) -> None:
    cluster.say(f"kubectl patch mpijob {job}: {workers} workers")
    change = f'{{"spec":{{"mpiReplicaSpecs":{{"Worker":{{"replicas":{workers}}}}}}}}}'
    cluster.kubectl("patch", "mpijob", job, "--type", "merge", "-p", change)


def wait_for_training(cluster: Cluster, pod: str, job: str, world: int) -> None:
    """Wait until the last of these workers trains."""
    cluster.says(pod, rf"world={world} host={job}-worker-{world - 1} batch=\d+ ")


def says_next(cluster: Cluster, pod: str, seen: str, *patterns: str) -> None:
    """Wait for these patterns, in this order, after the part of the log that was seen."""
    cluster.says(pod, rf"(?s)(?<=\A.{{{len(seen)}}}).*?" + ".*?".join(patterns))


def assert_at_most_one_commit_lost(log: str) -> None:
    furthest = 0
    for _, _, _, batch in _STEP.findall(log):
        assert int(batch) >= furthest - COMMIT, f"fell from {furthest} to {batch}:\n{log}"
        furthest = max(furthest, int(batch))
    assert furthest > 0, log
