"""`kubectl apply -k manifests` on a real API server, in the namespace that is shipped and in another."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from tools.kube import cluster

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.Cluster]:
    """An API server of its own: installing elsewhere moves the rights of the operator that serves the other tests."""
    with cluster.start() as started:
        yield started


@pytest.fixture(scope="module")
def installed(kube: cluster.Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Installed by an overlay that sets another namespace; the name of that namespace."""
    overlay = tmp_path_factory.mktemp("overlay")
    base = pathlib.Path("..") / "base"
    (overlay.parent / "base").symlink_to(ROOT / "manifests")
    (overlay / "kustomization.yaml").write_text(f"namespace: elsewhere\nresources: [{base}]\n")
    result = kube.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(overlay))
    assert result.returncode == 0, result.stderr
    return "elsewhere"


def test_the_shipped_base_is_accepted_by_client_side_apply(kube: cluster.Cluster) -> None:
    result = kube.kubectl("apply", "-k", str(ROOT / "manifests"))

    assert result.returncode == 0, result.stderr
    assert "deployment.apps/traincrew" in result.stdout


def test_the_operator_is_found_by_the_label_that_scripts_select(kube: cluster.Cluster, installed: str) -> None:
    deployment = kube.kubectl(
        "get", "deployment", "traincrew", "-n", installed, "-o", "jsonpath={.spec.template.metadata.labels.name}"
    )

    assert deployment.stdout == "tf-job-operator"


def test_the_service_account_of_another_namespace_has_the_rights(kube: cluster.Cluster, installed: str) -> None:
    account = f"system:serviceaccount:{installed}:traincrew"

    def may(*question: str) -> bool:
        return kube.kubectl("auth", "can-i", *question, f"--as={account}").stdout.strip() == "yes"

    assert may("create", "pods", "-n", "default")
    assert may("patch", "mpijobs.kubeflow.org", "--subresource=status", "-n", "default")
    assert may("update", "leases.coordination.k8s.io", "-n", installed)
    assert not may("update", "leases.coordination.k8s.io", "-n", "default")
    assert not may("list", "secrets", "-n", "default")
    assert not may("watch", "secrets", "-n", "default")
    assert not may("patch", "pytorchjobs.kubeflow.org", "-n", "default")
    assert not may("create", "pods", "--subresource=log", "-n", "default")
