"""Installs what the operator needs: CRDs, namespace and RBAC."""

from __future__ import annotations

import functools
import pathlib

from tests.cluster.api import Api, eventually
from tools.kube import cluster, prepared_data

from traincrew.kinds import KINDS
from traincrew.validation import crds as definitions


def crds(kube: cluster.Cluster) -> Api:
    """A client of the administrator, after the CRDs are served."""
    client = Api(kube.kubeconfig)
    if not kube.bootstrapped:
        _apply(kube, *prepared_data.CRDS)
    wait_served(client)
    return client


def wait_served(client: Api) -> None:
    """Wait until every version of every kind can be listed: a CRD that is Established is served a moment later."""
    for kind in KINDS:
        for version in definitions.versions(kind):
            path = client.path(kind.plural, "default", version=version)
            eventually(functools.partial(client.call, "GET", path), because=f"{path} is not served")


def rights(kube: cluster.Cluster) -> pathlib.Path:
    """A kubeconfig of the service account in manifests/base/rbac.yaml, after the API server grants its rights."""
    if not kube.bootstrapped:
        _apply(kube, *prepared_data.RIGHTS)
    kubeconfig = kube.token_kubeconfig("kubeflow", "traincrew")
    if not kube.bootstrapped:
        wait_granted(Api(kubeconfig))
    return kubeconfig


def wait_granted(client: Api) -> None:
    """The authorizer of a real API server learns of a new binding by a watch, a moment after the binding is created."""
    wanted = {"verb": "list", "resource": "pods"}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": wanted}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    eventually(lambda: client.call("POST", path, review)["status"]["allowed"], because="the operator may not list pods")


def _apply(kube: cluster.Cluster, *arguments: str) -> None:
    result = kube.kubectl("apply", *arguments)
    assert result.returncode == 0, result.stderr
