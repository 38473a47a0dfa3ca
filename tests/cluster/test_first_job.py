"""A job from its creation to its end on a real API server: the shortest end-to-end test."""

from __future__ import annotations

from tests.cluster import manifests
from tests.cluster.api import Api, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.operators import OperatorProcess


def test_a_pytorch_job_runs_and_succeeds(operator: OperatorProcess, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    api.create(namespace, manifests.job("PyTorchJob", Master=1, Worker=2))
    kubelet.run("j-master-0", "j-worker-0", "j-worker-1")
    eventually(lambda: states(api, namespace) == {"Created": "True", "Running": "True"})

    kubelet.succeed("j-master-0")

    eventually(lambda: states(api, namespace) == {"Created": "True", "Running": "False", "Succeeded": "True"})
    assert api.names("services", namespace) == {"j-master-0", "j-worker-0", "j-worker-1"}


def states(api: Api, namespace: str) -> dict[str, str]:
    job = api.get("pytorchjobs", namespace, "j")
    return {entry["type"]: entry["status"] for entry in job["status"]["conditions"]}
