"""What is installed with kustomize is removed by its label: jobs, definitions, namespace and history stay."""

from __future__ import annotations

import pathlib
import subprocess

from tests.cluster import manifests
from tests.cluster.api import Api, eventually
from tests.install.helm import ROOT
from tools.install_files import COMPONENT
from tools.kube import cluster

NAMESPACE = "elsewhere"
OVERLAY = f"""namespace: {NAMESPACE}
resources:
  - ../manifests/overlays/standalone
  - ../manifests/sharing
  - ../manifests/policies
  - ../manifests/recorder
"""
PROGRAMS = "deployment,service,serviceaccount,role,rolebinding,networkpolicy"
OF_CLUSTER = "clusterrole,clusterrolebinding,priorityclass,validatingadmissionpolicy,validatingadmissionpolicybinding"


def test_an_overlay_with_another_namespace_is_removed_and_training_and_history_stay(
    kube: cluster.OwnCluster, api: Api, tmp_path: pathlib.Path
) -> None:
    overlay = _overlay(tmp_path)
    _succeed(kube.kubectl("apply", "--server-side", "-k", overlay))
    eventually(lambda: api.all("pytorchjobs", "default") == [])  # a new definition is served after a moment
    api.create("default", manifests.job("PyTorchJob", Master=1))
    assert len(_ours(kube, PROGRAMS, "-n", NAMESPACE)) > 9
    assert len(_ours(kube, OF_CLUSTER)) > 9

    _succeed(kube.kubectl("delete", "-k", overlay, "-l", COMPONENT))

    assert _ours(kube, PROGRAMS, "-n", NAMESPACE) == []
    assert _ours(kube, OF_CLUSTER) == []
    assert api.find("pytorchjobs", "default", "j")
    assert api.find("persistentvolumeclaims", NAMESPACE, "traincrew-recorder")
    for plural, name in (("namespaces", NAMESPACE), ("customresourcedefinitions", "tfjobs.kubeflow.org")):
        assert not api.get(plural, "", name)["metadata"].get("deletionTimestamp")


def _overlay(directory: pathlib.Path) -> str:
    (directory / "manifests").symlink_to(ROOT / "manifests")
    (directory / "mine").mkdir()
    (directory / "mine" / "kustomization.yaml").write_text(OVERLAY)
    return str(directory / "mine")


def _ours(kube: cluster.Cluster, types: str, *where: str) -> list[str]:
    listed = _succeed(kube.kubectl("get", types, "-o", "name", *where))
    return [name for name in listed.splitlines() if "traincrew" in name or "kubeflow-training" in name]


def _succeed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout
