"""A real API server with controllers of kube-controller-manager, and the CRDs and rights of traincrew."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

from tests.cluster import controller_manager, installed_operators
from tools.kube import cluster

CONTROLLERS = ("deployment", "replicaset", "serviceaccount", "garbagecollector", "job")


@contextlib.contextmanager
def started() -> Iterator[cluster.Cluster]:
    with cluster.start() as kube, controller_manager.running(kube, *CONTROLLERS):
        installed_operators.install(kube)
        yield kube


def account(kube: cluster.Cluster) -> pathlib.Path:
    """A kubeconfig of the operator's service account."""
    return kube.token_kubeconfig(installed_operators.NAMESPACE, "traincrew")
