"""The CRDs, looked at without a cluster."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from traincrew.cli.commands import manifests
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, status
from traincrew.validation import crds, run_policy_schema

Schema = dict[str, Any]
ROOT = pathlib.Path(__file__).parents[2]
EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
EACH_VERSION = pytest.mark.parametrize(
    ("kind", "version"), [pytest.param(kind, v, id=f"{kind.kind}-{v}") for kind in KINDS for v in crds.versions(kind)]
)


def nodes(node: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, node
    for key, inner in node.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from nodes(node[key], f"{path}[]")


@EACH_KIND
def test_a_crd_fits_into_the_annotation_of_a_client_side_apply(kind: JobKind) -> None:
    assert len(json.dumps(crds.crd(kind), separators=(",", ":"))) < 200_000


@EACH_KIND
def test_the_generated_file_is_current(kind: JobKind) -> None:
    path = ROOT / "manifests" / "crds" / f"{kind.plural}.kubeflow.org.yaml"
    assert path.read_text(encoding="utf-8") == manifests.HEADER + manifests.render(crds.crd(kind))


def test_there_are_no_generated_files_of_kinds_that_are_gone() -> None:
    found = {path.name for path in (ROOT / "manifests" / "crds").glob("*.kubeflow.org.yaml")}
    assert found == {f"{kind.plural}.kubeflow.org.yaml" for kind in KINDS}


@EACH_VERSION
def test_every_object_of_the_pod_template_is_typed_and_keeps_unknown_fields(kind: JobKind, version: str) -> None:
    found = {path: node for path, node in nodes(crds.openapi(kind.plural, version)) if ".template" in path}
    assert len(found) > 1000
    for path, node in found.items():
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        if node.get("type") == "object" and "additionalProperties" not in node:
            assert node.get("x-kubernetes-preserve-unknown-fields") is True, path


@EACH_KIND
def test_v1_defaults_nothing_but_the_run_policy_and_what_list_keys_need(kind: JobKind) -> None:
    defaults = {path: node["default"] for path, node in nodes(crds.openapi(kind.plural, "v1")) if "default" in node}
    ours = {path: value for path, value in defaults.items() if ".template" not in path}
    assert ours == {".spec.runPolicy": {}, ".spec.runPolicy.suspend": False}
    assert {path.rpartition(".")[2] for path in defaults if ".template" in path} <= {"protocol", "name"}


@EACH_VERSION
def test_every_list_key_is_required_or_defaulted(kind: JobKind, version: str) -> None:
    for path, node in nodes(crds.openapi(kind.plural, version)):
        for key in node.get("x-kubernetes-list-map-keys", ()):
            assert key in node["items"].get("required", ()) or "default" in node["items"]["properties"][key], path


@EACH_VERSION
def test_every_field_that_jobs_are_decoded_to_is_in_the_schema(kind: JobKind, version: str) -> None:
    node = crds.openapi(kind.plural, version)["properties"]
    assert names(kind.spec) == set(node["spec"]["properties"])
    policy = node["spec"]["properties"]["runPolicy"]
    assert names(jobs.RunPolicy) == set(policy["properties"])
    assert names(jobs.SchedulingPolicy) == set(policy["properties"]["schedulingPolicy"]["properties"])
    assert names(status.JobStatus) == set(node["status"]["properties"])
    assert names(status.Restarts) == set(node["status"]["properties"]["restarts"]["properties"])
    assert node["status"]["properties"]["conditions"]["items"]["required"] == ["type", "status"]


def names(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


@EACH_KIND
def test_rules_use_nothing_that_kubernetes_1_27_does_not_know(kind: JobKind) -> None:
    for path, node in nodes(crds.openapi(kind.plural, "v1")):
        for rule in node.get("x-kubernetes-validations", ()):
            assert set(rule) == {"rule", "message"}, path


def test_no_rule_is_on_the_replicas_of_a_kind_whose_errors_are_reported_by_event() -> None:
    for kind in KINDS:
        found = {path for path, node in nodes(crds.openapi(kind.plural, "v1")) if "x-kubernetes-validations" in node}
        assert kind.validation.server_rules or found == {".spec.runPolicy", ".spec.runPolicy.schedulingPolicy.queue"}


def test_quantities_of_ours_have_the_form_of_the_templates_quantities() -> None:
    found = dict(nodes(crds.openapi("tfjobs", "v1")))
    template = found[".spec.tfReplicaSpecs[].template.spec.containers[].resources.limits[]"]
    ours = found[".spec.runPolicy.schedulingPolicy.minResources[]"]
    assert ours == run_policy_schema.QUANTITY
    assert template["pattern"] == ours["pattern"]
    assert template["x-kubernetes-int-or-string"] is True


def test_restart_and_clean_policies_and_numbers_are_unbounded() -> None:
    for kind in KINDS:
        for path, node in nodes(crds.openapi(kind.plural, "v1")):
            assert not {"minimum", "maximum", "enum"} & set(node), path
