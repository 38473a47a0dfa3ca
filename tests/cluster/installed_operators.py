"""Deployments of operators for tests: the objects that an installation creates. Tests run the programs themselves."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import yaml
from tests.cluster import installation
from tests.cluster.api import Api
from tools.kube import cluster

from traincrew.validation import crds, rbac_manifests

Object = dict[str, Any]
NAMESPACE = "kubeflow"
GO_LABELS = {"control-plane": "kubeflow-training-operator"}
OWN_LABELS = {"app.kubernetes.io/name": "traincrew", "name": "tf-job-operator"}


def deployment(name: str, labels: dict[str, str], *args: str, replicas: int = 1, namespace: str = NAMESPACE) -> Object:
    container = {"name": "operator", "image": f"{name}:1", "args": list(args)}
    spec = {"serviceAccountName": "traincrew" if name == "traincrew" else "default", "containers": [container]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def apply(kube: cluster.Cluster, *documents: Object) -> None:
    text = yaml.safe_dump_all(documents)
    result = kube.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)
    assert result.returncode == 0, result.stderr


def install(kube: cluster.Cluster) -> None:
    """Namespace, CRDs and RBAC rules of traincrew."""
    if not kube.bootstrapped:
        apply(kube, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        apply(kube, *crds.crds(), *rbac_manifests.documents())
    installation.wait_served(Api(kube.kubeconfig))


def traincrew(kube: cluster.Cluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "traincrew.cli.main", *arguments, "--kubeconfig", str(kube.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
