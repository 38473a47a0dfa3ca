"""This machine as a node of a real Kubernetes, for the tests of the page: kube-apiserver, kube-scheduler and `traincrew node`."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
from collections.abc import Iterator

from tests.cluster import installation, operators
from tests.console_browser.console_process import SECONDS, TRAINCREW, Machine
from tests.node import joined_node
from tests.node.joined_node import JoinedNode


class JoinedMachine(Machine):
    """Commands get its cluster by KUBECONFIG, and a data directory in which no cluster runs."""

    def __init__(self, data: pathlib.Path, node: JoinedNode) -> None:
        super().__init__(data)
        self._node = node
        self.config = node.home / ".config"  # the image map is that of the node
        data.mkdir(mode=0o700, parents=True)
        (data / "kubeconfig").write_bytes(node.kube.kubeconfig.read_bytes())

    @property
    def environment(self) -> dict[str, str]:
        history = os.fspath(self.data / "history.db")  # of the recorder, and of every console
        return {**super().environment, "KUBECONFIG": os.fspath(self.data / "kubeconfig"), "TRAINCREW_HISTORY": history}

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """`traincrew up` has the recorder in its own process."""
        with open(self.data / "recorder.log", "wb") as log:
            process = subprocess.Popen([*TRAINCREW, "recorder"], stdout=log, stderr=log, env=self.environment)
        try:
            yield
        finally:
            process.terminate()
            process.wait(SECONDS)


@contextlib.contextmanager
def machine(data: pathlib.Path) -> Iterator[JoinedMachine]:
    """With the operator and the permissions that are shipped."""
    with joined_node.own_control_plane() as kube:
        node = JoinedNode(kube, "traincrew")
        try:
            installation.crds(kube)
            with operators.running(installation.rights(kube)):
                node.up("--device", "nvidia.com/vgpu=4", "--device", "nvidia.com/gpumem=8000")
                found = JoinedMachine(data, node)
                with found.recording():
                    yield found
        finally:
            node.close()
