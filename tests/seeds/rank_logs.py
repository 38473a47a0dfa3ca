"""Reads the logs of ranks: the rank and world size of each pod, and whether they train together."""

from __future__ import annotations

import re

from tests.seeds.clusters import Cluster

_WHO = re.compile(r"^rank=(\d+) world=(\d+) host=(\S+)", re.MULTILINE)
_LOSS = re.compile(r"^rank=\d+ .*\bstep=\d+ .*?loss=([\d.]+)", re.MULTILINE)
_EXCHANGED = re.compile(r"^rank=(\d+) gradients exchanged: \w+ equal on (\d+) ranks$", re.MULTILINE)
_ACCURACY = re.compile(r"^rank=\d+ accuracy=([\d.]+)", re.MULTILINE)

Logs = dict[str, str]
"""By pod."""


def pods(cluster: Cluster, job: str, namespace: str = "default") -> list[str]:
    found = cluster.kubectl("get", "pods", "-n", namespace, "-l", f"training.kubeflow.org/job-name={job}", "-o", "name")
    return [each.removeprefix("pod/") for each in found.split()]


def logs(cluster: Cluster, job: str, namespace: str = "default") -> Logs:
    """The logs of all pods of the job."""
    return {pod: cluster.log(pod, namespace) for pod in pods(cluster, job, namespace)}


def hosts(said: Logs, world: int) -> dict[int, str]:
    """The host of each rank. Two pods with the same rank are an error."""
    found: dict[int, str] = {}
    for pod, text in said.items():
        for rank, size, host in _WHO.findall(text):
            assert int(size) == world, f"{pod}: a world of {size}, not {world}:\n{text}"
            assert host == pod, f"{pod} calls itself {host}:\n{text}"
            assert found.setdefault(int(rank), host) == host, f"{found[int(rank)]} and {host} are both rank {rank}"
    return found


def assert_each_pod_is_a_rank(said: Logs, world: int) -> None:
    found = hosts(said, world)
    assert sorted(found) == list(range(world)), said
    assert sorted(found.values()) == sorted(said), said


def assert_trained_together(said: Logs, world: int) -> None:
    """The loss of each rank falls, and all ranks end with the same weights, although they see different images."""
    for pod, text in said.items():
        losses = [float(loss) for loss in _LOSS.findall(text)]
        assert len(losses) > 1, f"{pod}:\n{text}"
        assert losses[-1] < losses[0] * 0.8, f"{pod}: {losses}"
    everything = "\n".join(said.values())
    assert sorted(_EXCHANGED.findall(everything)) == [(str(rank), str(world)) for rank in range(world)], everything
    accuracies = _ACCURACY.findall(everything)
    assert len(accuracies) == world, everything
    assert len(set(accuracies)) == 1, accuracies
    assert float(accuracies[0]) > 0.7, accuracies
