"""Rings of real frameworks over two nodes of a real Kubernetes, one of which ends: announced, silently, or drained."""

from __future__ import annotations

import datetime as dt
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.cluster.api import Object, eventually
from tests.cluster.test_node_lost import HEARTBEAT_LOST
from tests.node import node_outages
from tests.seeds import joined_nodes, launcher_logs, test_elastic_idle, test_torchrun
from tests.seeds.clusters import EXAMPLES, TIMEOUT_SECONDS, Cluster, Say
from tests.seeds.joined_nodes import Nodes
from tests.seeds.test_elastic_idle import DEVICE, JOB, LAUNCHER, create

SPOT_NOTICE = "aws-node-termination-handler/spot-itn"


@pytest.fixture(scope="module")
def nodes(say: Say) -> Iterator[Nodes]:
    with joined_nodes.joined(say, *HEARTBEAT_LOST) as found:
        found.steady.kubectl("label", "node", "spot", "karpenter.sh/capacity-type=spot")
        yield found


@pytest.fixture
def horovod(nodes: Nodes, tmp_path: pathlib.Path) -> Iterator[Nodes]:
    submit_ring(nodes.steady, tmp_path)
    yield nodes
    nodes.steady.delete(f"mpijob/{JOB}")


def submit_ring(cluster: Cluster, folder: pathlib.Path) -> None:
    """Submit seed 001's job, with its launcher on the first node and a worker on each, and wait until both train."""
    job = yaml.safe_load((EXAMPLES / "seeds/001-tensorflow-mnist-elastic-mpijob.yaml").read_text())
    job["metadata"]["annotations"] = {"traincrew.kubeflow.org/scaling": "yield"}
    roles = job["spec"]["mpiReplicaSpecs"]
    launcher = roles["Launcher"]["template"]["spec"]
    launcher["nodeSelector"] = {"kubernetes.io/hostname": "steady"}
    launcher["containers"][0]["env"] = [{"name": "EXAMPLE_BATCHES", "value": "1000000"}]
    spread(roles["Worker"]["template"])
    create(cluster, folder, job)
    launcher_logs.wait_for_training(cluster, LAUNCHER, JOB, 2)
    assert sorted(places(cluster, JOB).values()) == ["spot", "steady"]


def spread(template: Object) -> None:
    """One device for each worker, and the workers on both nodes."""
    template["spec"]["containers"][0]["resources"] = {"limits": {DEVICE: 1}}
    template["metadata"] = {"labels": {"spread": "yes"}}
    term = {"labelSelector": {"matchLabels": {"spread": "yes"}}, "topologyKey": "kubernetes.io/hostname"}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    template["spec"]["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def places(cluster: Cluster, job: str) -> dict[str, str]:
    """The nodes of the workers that are not terminating."""
    pods = cluster.api.all("pods", "default", f"training.kubeflow.org/job-name={job},training.kubeflow.org/replica-type=worker")
    return {
        pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods if "deletionTimestamp" not in pod["metadata"]
    }


def worker_on(cluster: Cluster, node: str) -> str:
    (found,) = (name for name, place in places(cluster, JOB).items() if place == node)
    return found


def trains_with_replacement(cluster: Cluster, seen: str) -> None:
    """Waits until a ring trains that has the worker with the new index."""
    launcher_logs.says_next(cluster, LAUNCHER, seen, rf"world=2 host={JOB}-worker-2 batch=\d+ ")


def restarts(cluster: Cluster) -> tuple[int, int]:
    found = cluster.get("mpijob", JOB)["status"].get("restarts", {})
    return found.get("charged", 0), found.get("disruptions", 0)


def not_ready_since(cluster: Cluster, node: str) -> dt.datetime:
    def look() -> Any:
        conditions = cluster.api.call("GET", f"/api/v1/nodes/{node}")["status"]["conditions"]
        (ready,) = (each for each in conditions if each["type"] == "Ready")
        return ready["status"] == "Unknown" and ready["lastTransitionTime"]

    return dt.datetime.fromisoformat(eventually(look, TIMEOUT_SECONDS))


def test_a_ring_leaves_a_spot_node_before_its_end(horovod: Nodes) -> None:
    steady = horovod.steady
    before, leaving, seen = launcher_logs.launcher(steady, LAUNCHER), worker_on(steady, "spot"), steady.log(LAUNCHER)
    steady.kubectl("taint", "node", "spot", f"{SPOT_NOTICE}=now:NoSchedule")
    steady.say(f"{leaving} must leave")
    began = time.monotonic()
    try:
        eventually(lambda: steady.api.find("pods", "default", leaving) is None, TIMEOUT_SECONDS)
        steady.say(f"its pod is gone after {time.monotonic() - began:.1f} s")
        joined_nodes.power_off(horovod.spot)
        trains_with_replacement(steady, seen)
        steady.say(f"the ring of two is whole again after {time.monotonic() - began:.1f} s")
        assert set(places(steady, JOB).values()) == {"steady"}
        assert f"{JOB}-worker-2" in places(steady, JOB), "the replacement has a new index"
        assert launcher_logs.launcher(steady, LAUNCHER) == before
        test_elastic_idle.assert_no_batch_is_lost(steady.log(LAUNCHER))
        assert restarts(steady) == (0, 1)
    finally:
        steady.kubectl("taint", "node", "spot", f"{SPOT_NOTICE}-")
        joined_nodes.power_on(horovod.spot)


def test_a_ring_goes_on_when_a_node_dies_without_a_word(horovod: Nodes) -> None:
    steady = horovod.steady
    before, lost, seen = launcher_logs.launcher(steady, LAUNCHER), worker_on(steady, "spot"), steady.log(LAUNCHER)
    joined_nodes.power_off(horovod.spot)
    try:
        noticed = not_ready_since(steady, "spot")
        steady.say(f"the node of {lost} is not ready")
        # With one worker, or with the replacement at once.
        launcher_logs.says_next(steady, LAUNCHER, seen, rf"host=(?!{lost} )\S+ begins", r"world=\d host=\S+ batch=\d+ ")
        steady.say(f"the ring goes on {(dt.datetime.now(dt.UTC) - noticed).total_seconds():.0f} s after the node was not ready")
        trains_with_replacement(steady, seen)
        assert launcher_logs.launcher(steady, LAUNCHER) == before
        launcher_logs.assert_at_most_one_commit_lost(steady.log(LAUNCHER))
        assert restarts(steady) == (0, 1)
    finally:
        joined_nodes.power_on(horovod.spot)


@pytest.fixture
def torchrun(nodes: Nodes, tmp_path: pathlib.Path) -> Iterator[Nodes]:
    """An elastic PyTorchJob with worker 0, which hosts the rendezvous, on the first node and worker 1 on the second."""
    job = yaml.safe_load((EXAMPLES / "pytorch/elastic/job.yaml").read_text())
    names = {"scaling": "yield", "checkpoint-seconds": "10"}
    job["metadata"]["annotations"] = {f"traincrew.kubeflow.org/{name}": text for name, text in names.items()}
    template = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    template["spec"]["containers"][0]["args"][:4] = ["--steps", "1000000", "--pause", "0.2"]
    spread(template)
    label_spot(template)
    create(nodes.steady, tmp_path, job)
    test_torchrun.trains(nodes.steady, test_torchrun.WORKERS[0], 2)
    assert places(nodes.steady, test_torchrun.JOB)[test_torchrun.WORKERS[0]] == "steady"
    yield nodes
    nodes.steady.delete(f"pytorchjob/{test_torchrun.JOB}")


def label_spot(template: Object) -> None:
    """Worker 0 avoids the spot node only if the template has no affinity of its own, so the template says it."""
    expression = {"key": "karpenter.sh/capacity-type", "operator": "NotIn", "values": ["spot"]}
    term = {"weight": 50, "preference": {"matchExpressions": [expression]}}
    template["spec"]["affinity"]["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}


@pytest.mark.parametrize("how", ["without power", "without its network"])
def test_torchrun_goes_on_with_a_replacement_when_a_node_is_silent(torchrun: Nodes, how: str) -> None:
    steady, machine, first = torchrun.steady, torchrun.spot.machine, test_torchrun.WORKERS[0]
    uid, seen = steady.get("pod", first)["metadata"]["uid"], len(steady.log(first))
    lost = next(name for name, place in places(steady, test_torchrun.JOB).items() if place == "spot")
    (node_outages.power_off if how == "without power" else node_outages.cut_off)(machine)
    try:
        noticed = not_ready_since(steady, "spot")
        steady.say(f"the node of {lost} is not ready")
        steady.says(first, rf"(?s)(?<=\A.{{{seen}}}).*?resumes at step=.*?world=2 host={first} step=\d+ ")
        steady.say(f"torchrun goes on {(dt.datetime.now(dt.UTC) - noticed).total_seconds():.0f} s after the node was not ready")
        assert set(places(steady, test_torchrun.JOB).values()) == {"steady"}
        assert steady.get("pod", first)["metadata"]["uid"] == uid
        test_torchrun.assert_no_more_than_a_checkpoint_was_lost(steady.log(first))
        status = steady.get("pytorchjob", test_torchrun.JOB)["status"]
        assert (status["restarts"].get("charged", 0), status["restarts"]["disruptions"]) == (0, 1), status
    finally:
        if how == "without power":
            joined_nodes.power_on(torchrun.spot)
        else:
            node_outages.reconnect(machine)
    eventually(lambda: steady.api.find("pods", "default", lost) is None, TIMEOUT_SECONDS)
    goes_on = len(steady.log(first))
    test_torchrun.trains(steady, first, 2, after=goes_on)
