"""Common kubectl commands on jobs of the operator."""

from __future__ import annotations

import json
import os
import pathlib
import stat

import pytest
import yaml
from tests.cluster import manifests
from tests.cluster.api import Api, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.operators import OperatorProcess
from tools.kube import cluster

pytestmark = pytest.mark.usefixtures("operator")


class Kubectl:
    """kubectl in one namespace; a failure shows what it said."""

    def __init__(self, kube: cluster.Cluster, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace

    def __call__(self, *args: str, input: str | None = None) -> str:
        result = self._kube.kubectl("--namespace", self._namespace, *args, input=input)
        assert result.returncode == 0, f"kubectl {' '.join(args)}: {result.stderr}"
        return result.stdout


@pytest.fixture
def kubectl(kube: cluster.Cluster, namespace: str) -> Kubectl:
    return Kubectl(kube, namespace)


def text(job: dict[str, object]) -> str:
    return yaml.safe_dump(job)


def test_create_get_and_delete(kubectl: Kubectl, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    assert "pytorchjob.kubeflow.org/j created" in kubectl("create", "-f", "-", input=text(manifests.job("PyTorchJob", Master=1)))
    kubelet.run("j-master-0")
    eventually(lambda: "Running" in kubectl("get", "pytorchjob", "j"))
    assert json.loads(kubectl("get", "pytorchjobs.kubeflow.org", "j", "-o", "json"))["status"]["conditions"]

    kubectl("delete", "pytorchjob", "j")

    assert api.find("pytorchjobs", namespace, "j") is None


def test_wait_returns_when_the_job_has_succeeded(kubectl: Kubectl, kubelet: FakeKubelet) -> None:
    kubectl("create", "-f", "-", input=text(manifests.job("JAXJob", Worker=1)))
    kubelet.run("j-worker-0")
    kubelet.succeed("j-worker-0")

    assert "condition met" in kubectl("wait", "--for=condition=Succeeded", "jaxjob/j", "--timeout=30s")


def test_wait_returns_for_a_job_that_can_never_run(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", input=text(manifests.job("MPIJob", Worker=1)))

    assert "condition met" in kubectl("wait", "--for=condition=Failed", "mpijob/j", "--timeout=30s")


@pytest.mark.parametrize("flags", [pytest.param((), id="client-side"), pytest.param(("--server-side",), id="server-side")])
def test_apply_twice_changes_only_what_was_edited(kubectl: Kubectl, api: Api, namespace: str, flags: tuple[str, ...]) -> None:
    job = manifests.job("PyTorchJob", Master=1, Worker=1)
    kubectl("apply", *flags, "-f", "-", input=text(job))
    eventually(lambda: api.find("pods", namespace, "j-worker-0"))
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 2

    kubectl("apply", *flags, "-f", "-", input=text(job))

    eventually(lambda: api.find("pods", namespace, "j-worker-1"))
    before = api.get("pytorchjobs", namespace, "j")
    outcome = kubectl("apply", *flags, "-f", "-", input=text(job))
    after = api.get("pytorchjobs", namespace, "j")
    assert outcome == f"pytorchjob.kubeflow.org/j {'serverside-applied' if flags else 'unchanged'}\n"
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["spec"] == before["spec"]


def test_scale(kubectl: Kubectl, api: Api, namespace: str) -> None:
    kubectl("create", "-f", "-", input=text(manifests.job("PyTorchJob", Worker=1)))
    eventually(lambda: api.find("pods", namespace, "j-worker-0"))

    kubectl("scale", "pytorchjob/j", "--replicas=3")

    eventually(lambda: api.names("pods", namespace) == {"j-worker-0", "j-worker-1", "j-worker-2"})


def test_patch(kubectl: Kubectl, api: Api, namespace: str) -> None:
    kubectl("create", "-f", "-", input=text(manifests.job("TFJob", Worker=1)))
    eventually(lambda: api.find("pods", namespace, "j-worker-0"))

    kubectl("patch", "tfjob", "j", "--type=merge", "-p", '{"spec":{"tfReplicaSpecs":{"Worker":{"replicas":2}}}}')

    eventually(lambda: api.find("pods", namespace, "j-worker-1"))


def test_edit(kubectl: Kubectl, api: Api, namespace: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl("create", "-f", "-", input=text(manifests.job("PaddleJob", Worker=1)))
    eventually(lambda: api.find("pods", namespace, "j-worker-0"))
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/replicas: 1/replicas: 2/" "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("KUBE_EDITOR", os.fspath(editor))

    kubectl("edit", "paddlejob", "j")

    eventually(lambda: api.find("pods", namespace, "j-worker-1"))


def test_describe_shows_status_and_events(kubectl: Kubectl, kubelet: FakeKubelet) -> None:
    kubectl("create", "-f", "-", input=text(manifests.job("XGBoostJob", Master=1)))
    kubelet.run("j-master-0")

    described = eventually(
        lambda: (said := kubectl("describe", "xgboostjob", "j")) and "Created pod: j-master-0" in said and said
    )

    assert "XGBoostJobCreated" in described


def test_explain_knows_every_field_of_the_pod_template(kubectl: Kubectl) -> None:
    path = "pytorchjob.spec.pytorchReplicaSpecs.template.spec.containers.livenessProbe.httpGet"

    assert "port" in kubectl("explain", path)
    assert "nprocPerNode" in kubectl("explain", "pytorchjob.spec")


def test_the_wide_table_says_why(kubectl: Kubectl, kubelet: FakeKubelet, operator: OperatorProcess) -> None:
    kubectl("create", "-f", "-", input=text(manifests.job("PyTorchJob", Master=1)))
    kubelet.pod("j-master-0")
    kubelet.unschedulable("j-master-0", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")

    wide = eventually(lambda: (said := kubectl("get", "pytorchjob", "j", "-o", "wide")) and "Insufficient" in said and said)

    assert "WHY" in wide
    assert "Unschedulable" in wide
