"""The operator, installed from the manifests with the image of `make image`."""

from __future__ import annotations

import pathlib

from tests.cluster.api import Object, eventually
from tests.kubelet.kubernetes_node import KubernetesNode
from tools.image import oci

from traincrew import __version__

TOP = pathlib.Path(__file__).parents[2]
ARCHIVE = TOP / "dist" / f"traincrew-{__version__}.oci.tar"
NAMESPACE = "kubeflow"
LABEL = "app.kubernetes.io/name=traincrew"


class InstalledOperator:
    def __init__(self, node: KubernetesNode) -> None:
        self.node = node

    def install(self) -> None:
        self.node.ctr("images", "import", str(ARCHIVE))
        self.node.kubectl("apply", "--server-side", "-k", str(TOP / "manifests"))
        self.wait_ready()

    def upgrade(self, image: str) -> None:
        """To the same image with another name, which a kubelet cannot tell from a new version."""
        self.node.ctr("images", "tag", oci.full_name(f"traincrew:{__version__}"), oci.full_name(image))
        self.node.kubectl("set", "image", "--namespace", NAMESPACE, "deployment/traincrew", f"traincrew={image}")
        self.node.kubectl("rollout", "status", "--namespace", NAMESPACE, "deployment/traincrew", "--timeout=180s")
        self.wait_ready()

    def remove(self) -> None:
        """Without CRDs and namespace: jobs and pods stay."""
        for file in ("deployment.yaml", "service.yaml", "rbac.yaml"):
            self.node.kubectl("delete", "-f", str(TOP / "manifests" / file))

    def wait_ready(self) -> None:
        eventually(self._is_ready, 180, "the operator does not become ready")

    def _is_ready(self) -> bool:
        pods = self.pods()
        ready = [each for each in pods if _condition(each, "Ready")]
        return bool(ready) and len(ready) == len(pods)

    def pods(self) -> list[Object]:
        return self.node.api.all("pods", NAMESPACE, labels=LABEL)

    def log(self) -> str:
        return self.node.kubectl("logs", "--namespace", NAMESPACE, "--selector", LABEL, "--tail=-1")


def _condition(pod: Object, name: str) -> bool:
    return any(each["type"] == name and each["status"] == "True" for each in pod["status"].get("conditions", []))
