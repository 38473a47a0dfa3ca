"""Namespaces on a second API server without an operator, for tests that start operators with flags of their own."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator

from tests.cluster import operators
from tests.cluster.api import Api, Object
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.operators import OperatorProcess
from tests.cluster.submitted_job import SubmittedJob
from tools.kube import cluster


@dataclasses.dataclass(frozen=True)
class IsolatedNamespace:
    """A new namespace with its clients."""

    kube: cluster.Cluster
    api: Api
    namespace: str
    operator_kubeconfig: pathlib.Path

    @property
    def kubelet(self) -> FakeKubelet:
        return FakeKubelet(self.api, self.namespace)

    def submit(self, body: Object) -> SubmittedJob:
        return SubmittedJob(self.api, self.namespace, body)

    def operator(self, *flags: str, env: dict[str, str] | None = None) -> contextlib.AbstractContextManager[OperatorProcess]:
        """An operator for this namespace only."""
        return operators.running(self.operator_kubeconfig, "--namespace", self.namespace, *flags, env=env)


@contextlib.contextmanager
def created(kube: cluster.Cluster, api: Api, name: str, operator_kubeconfig: pathlib.Path) -> Iterator[IsolatedNamespace]:
    api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield IsolatedNamespace(kube, api, name, operator_kubeconfig)
    api.delete("namespaces", "", name)
