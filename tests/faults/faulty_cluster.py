"""A real control plane with three joined nodes and the operator, whose parts can be killed."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from tests.cluster import installation
from tests.cluster.api import Api
from tests.cluster.operators import OperatorProcess
from tests.cluster.test_node_lost import HEARTBEAT_LOST
from tests.faults.light_jobs import DEVICE
from tests.node import joined_node
from tests.node.joined_node import JoinedNode
from tools.kube import cluster, prepared_data

STEADY, SPOT = "steady", ("spot-a", "spot-b")
DEVICES = ("--device", f"{DEVICE}=2")
OPERATOR_FLAGS = ("--settle", "1", "--resize-budget", "1")
"""Jobs grow as often as they may: with the default budget, a job grows a second time after five minutes."""


class FaultyCluster:
    def __init__(self, kube: cluster.Cluster, nodes: dict[str, JoinedNode]) -> None:
        self.kube, self.nodes, self.api = kube, nodes, Api(kube.kubeconfig)
        self._rights = installation.rights(kube)
        self.start_operator()

    def start_operator(self) -> None:
        self.operator = OperatorProcess(self._rights, *OPERATOR_FLAGS)
        self.operator.wait_ready()

    def kill_operator(self) -> None:
        self.operator.stop(signal.SIGKILL)

    def kubectl(self, *arguments: str) -> None:
        done = self.kube.kubectl(*arguments)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"


@contextlib.contextmanager
def running() -> Iterator[FaultyCluster]:
    with joined_node.own_control_plane(*HEARTBEAT_LOST) as kube, contextlib.ExitStack() as stack:
        installation.crds(kube)
        installation.rights(kube)
        done = kube.kubectl("apply", f"--kustomize={prepared_data.MANIFESTS / 'sharing'}")
        assert done.returncode == 0, done.stderr
        nodes = {}
        for name in (STEADY, *SPOT):
            nodes[name] = JoinedNode(kube, name)
            stack.callback(nodes[name].close)
            nodes[name].up(*DEVICES)
        made = FaultyCluster(kube, nodes)
        stack.callback(lambda: made.operator.stop())
        for name in SPOT:
            made.kubectl("label", "node", name, "karpenter.sh/capacity-type=spot")
        yield made
