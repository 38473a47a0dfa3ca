"""The YAML of a job: readable, the same object, and compared with what was submitted."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from traincrew.apimachinery.redaction import LAST_APPLIED
from traincrew.console.view import reruns, yaml_text


def document(**annotations: str) -> dict[str, Any]:
    return {
        "kind": "JAXJob",
        "apiVersion": "kubeflow.org/v1",
        "metadata": {"uid": "u", "annotations": annotations, "namespace": "default", "name": "mnist"},
        "spec": {"runPolicy": {"suspend": False}, "jaxReplicaSpecs": {"Worker": {"replicas": 3, "restartPolicy": "Never"}}},
        "status": {},
    }


def test_fields_are_in_the_order_of_a_manifest() -> None:
    lines = yaml_text.of(document(note="a")).splitlines()
    assert lines[:8] == [
        "apiVersion: kubeflow.org/v1",
        "kind: JAXJob",
        "metadata:",
        "  name: mnist",
        "  namespace: default",
        "  annotations:",
        "    note: a",
        "  uid: u",
    ]


def test_a_script_has_its_lines() -> None:
    script = "set -e\npython train.py \\\n  --lr 0.1\n"
    assert yaml_text.of({"command": ["sh", "-c", script]}) == (
        "command:\n- sh\n- -c\n- |\n  set -e\n  python train.py \\\n    --lr 0.1\n"
    )


@given(st.text(st.sampled_from("a \t\n#-:'\"|\\\r\x1b\x85\u2028é\ufeff😀"), max_size=12))
def test_every_text_is_read_back_as_it_was(text: str) -> None:
    assert yaml.safe_load(yaml_text.of({"args": [text], "env": {"value": text}})) == {"args": [text], "env": {"value": text}}


def test_what_was_applied_is_compared_in_the_order_of_the_object() -> None:
    worker = {"restartPolicy": "Never", "replicas": 2}
    applied = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"annotations": {}, "name": "mnist", "namespace": "default"},
        "spec": {"jaxReplicaSpecs": {"Worker": worker}},
    }
    found = reruns.submitted(document(**{LAST_APPLIED: json.dumps(applied)}))
    assert json.dumps(found["spec"]) == '{"jaxReplicaSpecs": {"Worker": {"replicas": 2, "restartPolicy": "Never"}}}'
    assert list(found["metadata"]) == ["namespace", "name"]
    assert reruns.manifest(document(**{LAST_APPLIED: "{}"}))["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] == 3


@pytest.mark.parametrize("copy", ["", "no JSON", "[]", "{}", '{"metadata":3}'])
def test_without_a_copy_the_manifest_stands_for_it(copy: str) -> None:
    found = document(**{LAST_APPLIED: copy})
    assert reruns.submitted(found) == reruns.manifest(found)
