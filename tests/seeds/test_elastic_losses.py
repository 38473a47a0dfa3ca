"""Horovod Elastic loses workers: the ring continues without them, and uses them again after their return."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
from collections.abc import Iterator

import pytest
import yaml
from tests.seeds import launcher_logs
from tests.seeds.clusters import EXAMPLES, Cluster

JOB = "horovod-elastic"
LAUNCHER, LOST = f"{JOB}-launcher", f"{JOB}-worker-1"


@pytest.fixture(scope="module")
def ring(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that train during all tests."""
    job = yaml.safe_load((EXAMPLES / "mpi/horovod-elastic/job.yaml").read_text())
    roles = job["spec"]["mpiReplicaSpecs"]
    roles["Worker"]["restartPolicy"] = "OnFailure"
    roles["Launcher"]["template"]["spec"]["containers"][0]["env"] = [{"name": "EXAMPLE_BATCHES", "value": "1000000"}]
    path = tmp_path_factory.mktemp("jobs") / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    cluster.kubectl("create", "-f", str(path))
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 2)
    yield cluster
    cluster.delete(f"mpijob/{JOB}")


def kill_init(cluster: Cluster, pod: str) -> None:
    """SIGKILL to process 1 of the container, from the host."""
    uid = cluster.get("pod", pod)["metadata"]["uid"]
    shim = json.loads((cluster.machine.data / "node" / "pods" / uid / "shim.json").read_text())["pid"]
    children = pathlib.Path(f"/proc/{shim}/task/{shim}/children").read_text().split()
    inits = [int(child) for child in children if _is_init(int(child))]
    assert inits, f"no container of {pod} under {shim}: {children}"
    for init in inits:
        os.kill(init, signal.SIGKILL)


def _is_init(pid: int) -> bool:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return re.search(r"^NSpid:.*\s1$", status, re.MULTILINE) is not None


def comes_back(cluster: Cluster, seen: str) -> None:
    """Wait until Horovod has started a new process on the returned worker, and it trains."""
    steps = (rf"world=2 host={LOST} begins", rf"world=2 host={LOST} batch=\d+ ")
    launcher_logs.says_next(cluster, LAUNCHER, seen, *steps)


def test_a_worker_killed_under_onfailure_is_used_again(ring: Cluster) -> None:
    before, seen = launcher_logs.launcher(ring, LAUNCHER), ring.log(LAUNCHER)
    ring.say(f"kill -9 of process 1 of {LOST}")
    kill_init(ring, LOST)
    comes_back(ring, seen)
    assert launcher_logs.launcher(ring, LAUNCHER) == before
    assert ring.get("pod", LOST)["status"]["containerStatuses"][0]["restartCount"] == 1
    launcher_logs.assert_at_most_one_commit_lost(ring.log(LAUNCHER))


def test_a_worker_that_was_evicted_is_used_again(ring: Cluster) -> None:
    before, seen = launcher_logs.launcher(ring, LAUNCHER), ring.log(LAUNCHER)
    uid = ring.get("pod", LOST)["metadata"]["uid"]
    ring.say(f"eviction of {LOST}")
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": LOST, "namespace": "default"}}
    ring.machine.api.call("POST", f"/api/v1/namespaces/default/pods/{LOST}/eviction", body)
    comes_back(ring, seen)
    assert launcher_logs.launcher(ring, LAUNCHER) == before
    assert ring.get("pod", LOST)["metadata"]["uid"] != uid
    launcher_logs.assert_at_most_one_commit_lost(ring.log(LAUNCHER))
    status = ring.get("mpijob", JOB)["status"]
    assert status["restarts"]["disruptions"] == 1
