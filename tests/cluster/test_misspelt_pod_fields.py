"""Misspelt fields of pod templates: the API server warns when the job is created, and the job says what was meant."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest
import yaml
from tests.cluster import manifests
from tests.cluster.api import Api, eventually
from tests.cluster.submitted_job import Submit
from tools.kube import cluster

POLICIES = pathlib.Path(__file__).parents[2] / "manifests" / "policies"
EMBEDDED = os.environ.get("KUBE") == "embedded"
"""The embedded API server warns by itself."""


def job(name: str = "j", path: tuple[str, ...] = (), field: str = "") -> dict[str, Any]:
    """A valid job, with an unknown field at this path of its template."""
    document = manifests.job("PyTorchJob", Master=1)
    document["metadata"]["name"] = name
    node: Any = document["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    for key in path:
        node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
    if field:
        node[field] = {}
    return document


def dry_run(kube: cluster.Cluster, namespace: str, document: dict[str, Any]) -> str:
    """What kubectl prints about the creation."""
    done = kube.kubectl("create", "--dry-run=server", "-n", namespace, "-f", "-", input=yaml.safe_dump(document))
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def policies(kube: cluster.Cluster, api: Api) -> None:
    if EMBEDDED:
        return
    versions = kube.kubectl("api-resources", "--api-group", "admissionregistration.k8s.io").stdout
    if "admissionregistration.k8s.io/v1 " not in " ".join(
        line for line in versions.splitlines() if line.startswith("validatingadmissionpolicies")
    ):
        pytest.skip("the API server does not serve policies of version v1")
    applied = kube.kubectl("apply", "-k", str(POLICIES))
    assert applied.returncode == 0, applied.stderr


CASES = [
    pytest.param(("spec", "containers", "0"), "resorces", "container", id="of a container"),
    pytest.param(("spec",), "nodeSelecter", "pod spec", id="of the pod"),
    pytest.param(("spec", "containers", "0", "resources"), "limit", "resources", id="of the resources"),
    pytest.param((), "specs", "template", id="of the template"),
]


@pytest.mark.usefixtures("policies")
@pytest.mark.parametrize(("path", "field", "level"), CASES)
def test_kubectl_shows_a_warning(kube: cluster.Cluster, namespace: str, path: tuple[str, ...], field: str, level: str) -> None:
    document = job(path=path, field=field)
    shown = eventually(lambda: field in (text := dry_run(kube, namespace, document)) and text)
    assert shown.startswith("Warning: ")
    assert ("; did you mean" if EMBEDDED else f"unknown field in a {level} of a pod template: {field}.") in shown


@pytest.mark.usefixtures("policies")
def test_a_job_without_mistakes_gives_no_warning(kube: cluster.Cluster, namespace: str) -> None:
    eventually(lambda: "resorces" in dry_run(kube, namespace, job(path=("spec", "containers", "0"), field="resorces")))
    assert dry_run(kube, namespace, job()) == ""


def test_the_job_says_at_once_which_field_was_meant(submit: Submit, api: Api, namespace: str) -> None:
    submit(job(path=("spec", "containers", "0"), field="resorces"))

    def reason() -> str:
        found = (api.find("pytorchjobs", namespace, "j") or {}).get("status", {}).get("why", {})
        return str(found.get("message", ""))

    message = eventually(lambda: "resorces" in (text := reason()) and text)
    assert "unknown field \"spec.containers[0].resorces\" (did you mean 'resources'?)" in message
