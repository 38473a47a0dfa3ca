"""The operator, installed with the Helm chart and the image of `make image`."""

from __future__ import annotations

import os
import pathlib
import subprocess

from tests.cluster.api import Object, eventually
from tests.kubelet.kubernetes_node import KubernetesNode
from tools.clients import go_programs
from tools.image import oci

from traincrew import __version__

TOP = pathlib.Path(__file__).parents[2]
ARCHIVE = TOP / "dist" / f"traincrew-{__version__}.oci.tar"
CHART = TOP / "charts" / "traincrew"
NAMESPACE = "kubeflow"
LABEL = "app.kubernetes.io/name=traincrew"


class InstalledOperator:
    def __init__(self, node: KubernetesNode) -> None:
        self.node = node

    def install(self) -> None:
        self.node.ctr("images", "import", str(ARCHIVE))
        self._helm("install", "traincrew", str(CHART), "--set=image.repository=traincrew")
        self.wait_ready()

    def upgrade(self, tag: str) -> None:
        """To the same image with another tag, which a kubelet cannot tell from a new version."""
        self.node.ctr("images", "tag", oci.full_name(f"traincrew:{__version__}"), oci.full_name(f"traincrew:{tag}"))
        self._helm(
            "upgrade", "traincrew", str(CHART), "--reset-then-reuse-values", f"--set=image.tag={tag}", "--wait", "--timeout=180s"
        )
        eventually(lambda: all(_image(each) == f"traincrew:{tag}" for each in self.pods()), 180)
        self.wait_ready()

    def remove(self) -> None:
        """CRDs and namespace are kept, and with them jobs and pods."""
        self._helm("uninstall", "traincrew", "--wait")

    def _helm(self, *words: str) -> None:
        home = str(self.node.work / "helm")
        environment = {**os.environ, "HELM_CACHE_HOME": home, "HELM_CONFIG_HOME": home, "HELM_DATA_HOME": home}
        kubeconfig = f"--kubeconfig={self.node.kube.kubeconfig}"
        command = [str(go_programs.program("helm")), *words, kubeconfig]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"helm {' '.join(words)}: {result.stderr}"

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


def _image(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def _condition(pod: Object, name: str) -> bool:
    return any(each["type"] == name and each["status"] == "True" for each in pod["status"].get("conditions", []))
