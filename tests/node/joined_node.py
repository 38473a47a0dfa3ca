"""This machine as a node of a real Kubernetes control plane: `traincrew node` in a process."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import uuid
from collections.abc import Iterator
from typing import Self

import pytest
from tests.cluster.api import Object, eventually
from tests.node.local_cluster import LocalCluster
from tools.kube import cluster, control_plane

STOP_LIMIT = 60.0
RIGHTS = pathlib.Path(__file__).parents[2] / "manifests" / "node.yaml"


class NodeProcess(LocalCluster):
    """`traincrew node`. Has the interface of LocalCluster, for a node of another control plane."""

    def __init__(self, name: str, administrator: pathlib.Path, own: pathlib.Path) -> None:
        """administrator, own: kubeconfigs, for the test and for the node."""
        super().__init__("root")
        self.name = name
        self._administrator, self._own = administrator, own
        self._process: subprocess.Popen[bytes] | None = None

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "KUBECONFIG": str(self._own)}

    def up(self, *flags: str) -> Self:
        where = ("--data", str(self.data), "--name", self.name, "--isolation", self.level, "--stop-pods")
        self.data.mkdir(mode=0o700, exist_ok=True)
        before = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command("node", *where, *flags), stdout=log, stderr=log, env=self.environment(), cwd=self.home,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        eventually(lambda: self._has_logged_since(before, f"Node {self.name} is ready"))
        eventually(self._is_schedulable)
        return self

    def _has_logged_since(self, before: int, text: str) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            pytest.fail(f"the kubelet exited with {self._process.returncode}\n{self.log()}")
        return text in self._log.read_text()[before:]

    def _is_schedulable(self) -> bool:
        """The node has no taints, and the default service account exists."""
        taints = self.api.call("GET", f"/api/v1/nodes/{self.name}")["spec"].get("taints")
        return not taints and self.api.find("serviceaccounts", "default", "default") is not None

    @property
    def _log(self) -> pathlib.Path:
        return self.home / "node.log"

    def log(self) -> str:
        return self._log.read_text()[-4000:] if self._log.exists() else ""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def down(self, *flags: str) -> None:
        """Stops the kubelet, which terminates its pods first."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"the kubelet did not stop\n{self.log()}")
        assert self._process.returncode == 0, self.log()

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self._administrator

    def end(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self.up()  # it was killed: the next kubelet adopts and terminates the running pods
        self.down()


class JoinedNode(NodeProcess):
    """A node of a real Kubernetes, with the permissions of a kubelet and of a kube-proxy only."""

    def __init__(self, kube: cluster.Cluster, name: str = "") -> None:
        name = name or f"node-{uuid.uuid4().hex[:6]}"
        super().__init__(name, kube.kubeconfig, kube.user_kubeconfig(f"system:node:{name}", "system:nodes"))
        self.kube = kube


@contextlib.contextmanager
def own_control_plane(*flags: str) -> Iterator[cluster.Cluster]:
    """flags: of kube-controller-manager."""
    if os.geteuid() != 0:
        pytest.skip("pods at the level `root` need root")
    if os.environ.get("KUBE") == "embedded":
        pytest.skip("for a real kube-apiserver; the embedded one has these tests in tests/node")
    # Pods get service accounts and tokens, as on any cluster: kube-controller-manager creates them.
    # Without prepared data, which has the authority of another API server: the node trusts the one that the cluster publishes.
    with cluster.start(control_plane.Options(disabled_admission=())) as kube:
        kube.start_controller_manager(*flags)
        kube.start_scheduler()
        done = kube.kubectl("apply", f"--filename={RIGHTS}")
        assert done.returncode == 0, done.stderr
        yield kube


@contextlib.contextmanager
def joined_node() -> Iterator[JoinedNode]:
    """A node with its own control plane."""
    with own_control_plane() as kube:
        machine = JoinedNode(kube)
        try:
            yield machine.up()
        finally:
            machine.close()


def volume(name: str, path: pathlib.Path) -> Object:
    """A directory of this machine as a PersistentVolume, for any claim."""
    spec = {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": str(path), "type": "DirectoryOrCreate"},
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
