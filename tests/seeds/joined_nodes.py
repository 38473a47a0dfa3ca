"""Two nodes of a real Kubernetes with the environments of `make frameworks`, and the operator with the shipped rights."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

from tests.cluster import installation, operators
from tests.node import joined_node, node_outages
from tests.seeds.clusters import Cluster, Say
from tools.kube import cluster, prepared_data

DEVICE, DEVICES = "nvidia.com/vgpu", 2
"""What each node has."""


@dataclasses.dataclass(frozen=True)
class Nodes:
    """Clients of the cluster are those of the first node."""

    steady: Cluster
    spot: Cluster

    @property
    def kube(self) -> cluster.Cluster:
        machine = self.steady.machine
        assert isinstance(machine, joined_node.JoinedNode)
        return machine.kube


@contextlib.contextmanager
def joined(say: Say, *controller_flags: str) -> Iterator[Nodes]:
    """controller_flags: of kube-controller-manager."""
    with joined_node.own_control_plane(*controller_flags) as kube, contextlib.ExitStack() as stack:
        installation.crds(kube)
        rights = installation.rights(kube)
        done = kube.kubectl("apply", f"--kustomize={prepared_data.MANIFESTS / 'sharing'}")
        assert done.returncode == 0, done.stderr
        nodes = []
        for name in ("steady", "spot"):
            node = Cluster(say, machine=joined_node.JoinedNode(kube, name))
            stack.callback(node.close)
            node.flags = ("--device", f"{DEVICE}={DEVICES}")
            nodes.append(node.up())
        stack.enter_context(operators.running(rights))
        yield Nodes(*nodes)


def power_off(node: Cluster) -> None:
    node_outages.power_off(node.machine)


def power_on(node: Cluster) -> None:
    node_outages.reboot(node.machine, *node.flags)
