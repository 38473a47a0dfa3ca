"""What is said about whole texts."""

from __future__ import annotations

import pytest
import yaml
from tests.validation import valid_manifests

from traincrew.kinds import KINDS
from traincrew.validation import manifest_review


def reported(text: str) -> list[str]:
    return [f"{finding.line}: {finding}" for finding in manifest_review.review(text).findings]


def test_jobs_and_other_objects_are_counted() -> None:
    others = "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: kubeflow.org/v1beta1\nkind: Experiment\n"
    found = manifest_review.review(f"{yaml.safe_dump_all(valid_manifests.jobs())}---\n{others}")
    assert (found.jobs, found.others) == (len(valid_manifests.jobs()), 2)
    assert not [finding for finding in found.findings if finding.level == "error"]


@pytest.mark.parametrize("kind", ["List", "JAXJobList"])
def test_lists_are_opened_and_lines_are_those_of_the_file(kind: str) -> None:
    text = (
        f"apiVersion: v1\nkind: {kind}\nitems:\n- apiVersion: kubeflow.org/v1\n  kind: JAXJob\n  metadata:\n    name: j\n"
        "  spec:\n    jaxReplicaSpecs:\n      Worke: {}\n- apiVersion: v1\n  kind: Secret\n"
    )
    found = manifest_review.review(text)
    assert (found.jobs, found.others) == (1, 1)
    assert reported(text) == [
        "10: spec.jaxReplicaSpecs.Worke: unsupported replica type 'Worke', must be one of Worker; did you mean 'Worker'?",
        "10: spec.jaxReplicaSpecs.Worke.template: is required",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "1: contains no object", id="empty"),
        pytest.param("# only a comment\n---\n", "1: contains no object", id="a comment"),
        pytest.param("- a\n", "1: is not an object: expected a mapping with apiVersion, kind and metadata", id="a list"),
        pytest.param("just text", "1: is not an object: expected a mapping with apiVersion, kind and metadata", id="text"),
        pytest.param("kind: TFJob\n", "1: apiVersion: is required and must be a string", id="no version"),
        pytest.param("apiVersion: v1\nkind: 5\n", "2: kind: is required and must be a string", id="a number for a kind"),
        pytest.param(
            "apiVersion: kubeflow.org/v1\nkind: TfJob\n",
            "2: kind: unknown kind 'TfJob'; did you mean 'TFJob'?",
            id="a misspelt kind",
        ),
        pytest.param(
            "apiVersion: kubeflow.org/v1beta2\nkind: TFJob\n",
            "1: apiVersion: 'kubeflow.org/v1beta2' is not served for TFJob, must be kubeflow.org/v1",
            id="an old version",
        ),
        pytest.param(
            "apiVersion: kubeflow.org/v1alpha2\nkind: MPIJob\n",
            "1: apiVersion: 'kubeflow.org/v1alpha2' is not served for MPIJob, must be kubeflow.org/v1 or kubeflow.org/v2beta1",
            id="an old MPIJob",
        ),
    ],
)
def test_what_is_no_object_or_nearly_one_of_ours_is_an_error(text: str, message: str) -> None:
    assert reported(text) == [message]


def test_duplicate_keys_wrong_types_and_unknown_fields_have_their_lines() -> None:
    text = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j}
spec:
  runPolcy: {}
  pytorchReplicaSpecs:
    Worker:
      replicas: "2"
      replicas: '3'
      template:
        spec:
          containers:
          - name: pytorch
            image: i
            resources:
              limits: {cpu: 0.5}
            env:
            - {name: A, vale: "1"}
            - {name: A, value: 1}
"""
    container = "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0]"
    assert reported(text) == [
        "5: spec.runPolcy: unknown field 'runPolcy'; did you mean 'runPolicy'?",
        "9: spec.pytorchReplicaSpecs.Worker.replicas: is given twice, first in line 8",
        "9: spec.pytorchReplicaSpecs.Worker.replicas: must be an integer, got '3' (write it without quotes)",
        f"16: {container}.resources.limits.cpu: must be an integer or a string, got 0.5 (write it in quotes: '0.5')",
        f"18: {container}.env[0].vale: unknown field 'vale'; did you mean 'value'?",
        f"19: {container}.env[1]: duplicate value of name: name 'A'",
        f"19: {container}.env[1].value: must be a string, got 1 (write it in quotes: '1')",
    ]


def test_warnings_are_marked_and_are_no_errors() -> None:
    kind = KINDS[0]
    document = valid_manifests.job(kind)
    document["spec"]["successPolicy"] = "Most"
    found = manifest_review.review(yaml.safe_dump(document))
    assert {finding.level for finding in found.findings} == {"warning"}
    assert any(finding.path == "spec.successPolicy" for finding in found.findings)
