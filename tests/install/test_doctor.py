"""`traincrew doctor --cluster` on what the chart and the overlays install: each has the rights that its own values need."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cluster import installation, installed_operators
from tests.cluster.api import Api, Object
from tests.install.helm import CHART, IMAGE, ROOT, Helm
from tools.kube import cluster

NAMESPACES = ("kubeflow", "team-a", "team-b")
VALUES = {
    "the defaults": (),
    "two namespaces": ("--set=watchNamespaces={team-a,team-b}",),
    "one kind": ("--set=enabledKinds={JAXJob}",),
    "volcano": ("--set=gangScheduler=volcano",),
    "scheduler-plugins": ("--set=gangScheduler=gangs",),
    "metrics with authentication": ("--set=metrics.authentication=true",),
    "sharing": ("--set=sharing.enabled=true",),
    "no leader election": ("--set=leaderElection.enabled=false",),
}


@pytest.fixture(scope="module")
def kube() -> Iterator[cluster.OwnCluster]:
    with cluster.start() as started:
        for name in NAMESPACES:
            assert started.kubectl("create", "namespace", name).returncode == 0
        yield started


@pytest.fixture(scope="module")
def helm(kube: cluster.OwnCluster, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(tmp_path_factory.mktemp("helm"), kube.kubeconfig)


def results(kube: cluster.Cluster) -> dict[str, Object]:
    result = installed_operators.traincrew(kube, "doctor", "--cluster", "-o", "json")
    assert result.stdout, result.stderr
    return {each["subject"]: each for each in json.loads(result.stdout)}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_release_has_every_right_that_doctor_asks_for(kube: cluster.OwnCluster, helm: Helm, values: tuple[str, ...]) -> None:
    helm.succeed("upgrade", "--install", "traincrew", CHART, IMAGE, "--reset-values", *values)
    installation.wait_served(Api(kube.kubeconfig))  # a new definition is established after a moment
    found = results(kube)
    assert (found["rbac"]["grade"], found["crds"]["grade"]) == ("ok", "ok"), found


def test_a_right_that_the_values_need_and_the_role_does_not_have_is_named(kube: cluster.OwnCluster, helm: Helm) -> None:
    helm.succeed("upgrade", "--install", "traincrew", CHART, IMAGE, "--reset-values")
    container = {"name": "traincrew", "args": ["operator", "--leader-elect", "--gang-scheduler-name=volcano"]}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    path = "/apis/apps/v1/namespaces/kubeflow/deployments/traincrew"
    Api(kube.kubeconfig).call("PATCH", path, patch, "application/strategic-merge-patch+json")
    found = results(kube)["rbac"]
    helm.succeed("uninstall", "traincrew")
    assert found["grade"] == "fail"
    assert "cannot create podgroups.scheduling.volcano.sh" in found["message"]


@pytest.mark.parametrize("overlay", ["standalone", "namespaced"])
def test_an_overlay_has_every_right_that_doctor_asks_for(kube: cluster.OwnCluster, overlay: str) -> None:
    kube.kubectl("delete", "-k", str(ROOT / "manifests" / "base"), "--ignore-not-found")
    directory = str(ROOT / "manifests" / "overlays" / overlay)
    applied = kube.kubectl("apply", "--server-side", "--force-conflicts", "-k", directory)
    assert applied.returncode == 0, applied.stderr
    assert results(kube)["rbac"]["grade"] == "ok", results(kube)
