"""`kubectl drain` of a node with two of three workers of a real ring that needs two, on a real Kubernetes."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.cluster.api import Object, eventually
from tests.seeds import joined_nodes, launcher_logs
from tests.seeds.clusters import EXAMPLES, TIMEOUT_SECONDS, Cluster, Say
from tests.seeds.joined_nodes import Nodes
from tests.seeds.test_elastic_idle import DEVICE, JOB, LAUNCHER, create, waiting_job
from tests.seeds.test_joined_losses import places, restarts

HOSTNAME = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def nodes(say: Say) -> Iterator[Nodes]:
    with joined_nodes.joined(say) as found:
        yield found


def holder() -> Object:
    """It leaves one device of the first node."""
    job = waiting_job(1)
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["nodeSelector"] = {HOSTNAME: "steady"}
    return job


def ring() -> Object:
    """Seed 001's job with three workers, of which it needs two."""
    job: Object = yaml.safe_load((EXAMPLES / "seeds/001-tensorflow-mnist-elastic-mpijob.yaml").read_text())
    job["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "yield"}
    roles = job["spec"]["mpiReplicaSpecs"]
    launcher = roles["Launcher"]["template"]["spec"]
    launcher["nodeSelector"] = {HOSTNAME: "steady"}
    launcher["containers"][0]["env"] = [{"name": "EXAMPLE_BATCHES", "value": "1000000"}]
    launcher["containers"][0]["args"][:4] = ["-np", "3", "--min-np", "2"]
    roles["Worker"]["replicas"] = 3
    roles["Worker"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {DEVICE: 1}}
    return job


def why(cluster: Cluster) -> Any:
    return cluster.get("mpijob", JOB)["status"]["elastic"].get("why", {}).get("message", "")


def test_a_drained_ring_below_its_minimum_waits_and_goes_on(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    steady = nodes.steady
    create(steady, tmp_path, holder())
    eventually(lambda: steady.get("pod", "mnist-worker-0")["status"]["phase"] == "Running", TIMEOUT_SECONDS)
    create(steady, tmp_path, ring())
    launcher_logs.says_next(steady, LAUNCHER, "", r"world=3 host=\S+ batch=\d+ ")
    assert sorted(places(steady, JOB).values()) == ["spot", "spot", "steady"]
    before = launcher_logs.launcher(steady, LAUNCHER)
    steady.kubectl("drain", "spot", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s")
    steady.say("the node is drained")
    eventually(lambda: "the job waits: 1 of the 2 workers that it needs have a node" in why(steady), TIMEOUT_SECONDS)
    seen = steady.log(LAUNCHER)
    steady.kubectl("uncordon", "spot")
    launcher_logs.says_next(steady, LAUNCHER, seen, r"world=3 host=\S+ batch=\d+ ")
    steady.say("the ring of three trains again")
    assert launcher_logs.launcher(steady, LAUNCHER) == before
    launcher_logs.assert_at_most_one_commit_lost(steady.log(LAUNCHER))
    charged, disruptions = restarts(steady)
    assert (charged, disruptions in (1, 2)) == (0, True)
