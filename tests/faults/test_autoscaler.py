"""An elastic job beside an autoscaler of nodes, which the test plays, on a real API server with its scheduler.

It adds a node for a requested worker, none for workers on idle capacity, and gets back a node that only these use.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from collections.abc import Iterator

import pytest
from tests.cluster import installation, manifests, operators, simulated_node
from tests.cluster.api import Api, Object, RejectedRequest, consistently, eventually
from tests.sharing.test_autoscaled_nodes import POOL
from tools.kube import cluster, prepared_data

GPU, NAMESPACE, JOB = "nvidia.com/gpu", "default", "grown"
LONG = 300.0
LOWEST_PRIORITY = {"cluster autoscaler": -10, "Karpenter": -(2**31)}
"""The cluster autoscaler ignores pods below its cut-off, Karpenter none."""


class Autoscaler(threading.Thread):
    """Adds a node of two devices for every pod that has been unschedulable for a second."""

    def __init__(self, api: Api, kind: str, nodes: contextlib.ExitStack) -> None:
        super().__init__(daemon=True)
        self._api, self._kind, self._nodes, self._stopped = api, kind, nodes, threading.Event()
        self.added: dict[str, str] = {}
        """The nodes by the UID of the pod."""
        self.for_surplus: list[str] = []

    def run(self) -> None:
        while not self._stopped.wait(0.3):
            with contextlib.suppress(RejectedRequest):
                for pod in self._api.all("pods", NAMESPACE):
                    self._consider(pod)

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def _consider(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self.added or pod["spec"].get("priority", 0) < LOWEST_PRIORITY[self._kind] or not _is_unschedulable(pod):
            return
        self.added[uid] = f"added-{len(self.added)}"
        if "traincrew.kubeflow.org/surplus" in pod["metadata"]["labels"]:
            self.for_surplus.append(pod["metadata"]["name"])
        labels = POOL if self._kind == "Karpenter" else {}
        self._nodes.enter_context(simulated_node.running(self._api, self.added[uid], NAMESPACE, {GPU: "2"}, labels))


def _is_unschedulable(pod: Object) -> bool:
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            since = dt.datetime.fromisoformat(condition["lastTransitionTime"])
            return dt.datetime.now(dt.UTC) - since >= dt.timedelta(seconds=1)
    return False


@pytest.fixture
def api() -> Iterator[Api]:
    """With one node of two devices."""
    with cluster.start_any() as kube:
        client = installation.crds(kube)
        kube.start_scheduler()
        rights = installation.rights(kube)
        done = kube.kubectl("apply", "-k", str(prepared_data.MANIFESTS / "sharing"))
        assert done.returncode == 0, done.stderr
        with (
            simulated_node.running(client, "base", NAMESPACE, {GPU: "2"}),
            operators.running(rights, "--settle", "1", "--resize-budget", "1"),
        ):
            yield client


def job() -> Object:
    body: Object = manifests.job("PyTorchJob", JOB, Worker=2, spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}})
    names = {"scaling": "idle", "checkpoint-seconds": "10", "start-seconds": "1"}
    body["metadata"]["annotations"] = {f"traincrew.kubeflow.org/{name}": text for name, text in names.items()}
    worker = body["spec"]["pytorchReplicaSpecs"]["Worker"]
    worker["template"]["spec"]["containers"][0]["resources"] = {"limits": {GPU: "1"}}
    return body


def elastic(api: Api) -> Object:
    found: Object = api.get("pytorchjobs", NAMESPACE, JOB)["status"]["elastic"]
    return found


def scale(api: Api, workers: int) -> None:
    api.patch("pytorchjobs", NAMESPACE, JOB, {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": workers}}}})


def running_on(api: Api, node: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in api.all("pods", NAMESPACE) if pod["spec"].get("nodeName") == node]


@pytest.mark.parametrize("kind", LOWEST_PRIORITY)
def test_only_requested_workers_add_a_node_and_only_they_keep_it(api: Api, kind: str) -> None:
    with contextlib.ExitStack() as nodes:
        autoscaler = Autoscaler(api, kind, nodes)
        autoscaler.start()
        nodes.callback(autoscaler.stop)
        api.create(NAMESPACE, job())
        eventually(lambda: elastic(api)["why"]["reason"] == "NoRoom", LONG)
        consistently(lambda: not autoscaler.added, 5)
        scale(api, 3)
        eventually(lambda: len(running_on(api, "added-0")) == 2 and elastic(api)["members"] == "0-3", LONG)
        assert elastic(api)["surplus"] == 1
        if kind == "Karpenter":
            scale(api, 2)
            eventually(lambda: not running_on(api, "added-0"), LONG)
            assert elastic(api)["members"] == "0-1"
            assert "only workers on idle capacity use node added-0" in elastic(api)["lastResize"]["message"]
        assert not autoscaler.for_surplus
        assert len(autoscaler.added) == 1
