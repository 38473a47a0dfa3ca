"""Jobs whose pods are scheduled together, for the real gang schedulers."""

from __future__ import annotations

from tests.cluster import manifests
from tests.cluster.api import Api, Object, eventually
from tests.cluster.fake_kubelet import FakeKubelet

NODES = "/api/v1/nodes"


def create_node(api: Api, name: str, cpus: int) -> None:
    """A node without a kubelet: the test writes the statuses of its pods."""
    amounts = {"cpu": str(cpus), "memory": "8Gi", "pods": "100"}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    status = {"allocatable": amounts, "capacity": amounts, "conditions": conditions}
    api.call("POST", NODES, {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "status": status})
    # Admission has tainted it: no kubelet has said yet that it is ready.
    api.call("PATCH", f"{NODES}/{name}", {"spec": {"taints": None}}, "application/merge-patch+json")


class GangJob:
    """A PyTorchJob or a v2beta1 MPIJob whose replicas need the same number of CPUs each."""

    def __init__(self, api: Api, namespace: str, name: str, version: str) -> None:
        """version: API version of the PodGroup."""
        self.api, self.namespace, self.name, self.version = api, namespace, name, version
        self.kubelet = FakeKubelet(api, namespace)

    def submit(self, workers: int, cpus: int, policy: Object | None = None, annotations: Object | None = None) -> None:
        spec = manifests.replicas("PyTorchJob", workers, resources={"requests": {"cpu": str(cpus)}})
        run = {"schedulingPolicy": policy} if policy else None
        body = manifests.job("PyTorchJob", self.name, run=run, Worker=spec)
        body["metadata"]["annotations"] = annotations or {}
        self.api.create(self.namespace, body)

    def submit_mpi(self, workers: int, cpus: int) -> None:
        spec = manifests.replicas("MPIJob", workers, resources={"requests": {"cpu": str(cpus)}})
        self.api.create(self.namespace, manifests.job("MPIJob", self.name, version="v2beta1", Launcher=1, Worker=spec))

    def pods(self) -> list[Object]:
        return self.api.all("pods", self.namespace, f"training.kubeflow.org/job-name={self.name}")

    def bound(self) -> int:
        return sum(bool(pod["spec"].get("nodeName")) for pod in self.pods())

    def group(self) -> Object:
        return self.api.get("podgroups", self.namespace, self.name, version=self.version)

    def phase(self) -> str:
        return str(self.group().get("status", {}).get("phase", ""))

    def run(self, pods: int) -> None:
        """Waits until the scheduler has bound that many pods, and starts them."""
        eventually(lambda: self.bound() == pods, 60)
        self.kubelet.run(*(pod["metadata"]["name"] for pod in self.pods() if pod["spec"].get("nodeName")), bind=False)

    def succeed(self) -> None:
        self.kubelet.succeed(*(pod["metadata"]["name"] for pod in self.pods()))
