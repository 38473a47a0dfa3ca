"""The CRDs on a real API server, without an operator: what they serve, print and explain."""

from __future__ import annotations

import copy
import json
import pathlib

import pytest
from tests.cluster.api import Api, Object, RejectedRequest, eventually, rejected
from tests.validation import valid_manifests
from tests.validation.valid_manifests import BY_NAME, minimal
from tools.kube import cluster

from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.validation import crds

EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
CRDS = pathlib.Path(__file__).parents[2] / "manifests" / "crds"


def unmanaged(document: Object) -> Object:
    """The job as one that no operator on this cluster touches, so that its status is the test's own."""
    document = copy.deepcopy(document)
    document["spec"].setdefault("runPolicy", {})["managedBy"] = "kueue.x-k8s.io/multikueue"
    return document


def job(kind: JobKind, version: str = "v1") -> Object:
    return unmanaged(valid_manifests.job(kind, version))


@pytest.mark.checklist(1)
@EACH_KIND
def test_a_crd_is_established_structural_and_namespaced(api: Api, kind: JobKind) -> None:
    def conditions() -> dict[str, str]:
        found = api.get("customresourcedefinitions", "", f"{kind.plural}.kubeflow.org")["status"]["conditions"]
        return {condition["type"]: condition["status"] for condition in found}

    eventually(lambda: conditions() == {"NamesAccepted": "True", "Established": "True"})
    crd = api.get("customresourcedefinitions", "", f"{kind.plural}.kubeflow.org")
    assert crd["spec"]["scope"] == "Namespaced"
    assert {version["name"]: version["served"] for version in crd["spec"]["versions"]}["v1"] is True
    assert crd["status"]["acceptedNames"]["listKind"] == f"{kind.kind}List"


def test_client_side_apply_installs_the_crds_without_a_warning(kube: cluster.Cluster, api: Api) -> None:
    kube.kubectl("apply", "-k", str(CRDS))  # warns where the objects came from a server-side apply
    again = kube.kubectl("apply", "-k", str(CRDS))
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.checklist(2, 3)
@EACH_KIND
def test_kubectl_prints_the_columns_of_the_go_operators_and_wide_says_why(
    kube: cluster.Cluster, api: Api, namespace: str, kind: JobKind
) -> None:
    api.create(namespace, job(kind))
    conditions = [{"type": "Created", "status": "True"}, {"type": "Running", "status": "False"}]
    status = {"conditions": conditions, "why": {"reason": "Unschedulable", "message": "no node has a GPU"}}
    name = f"my-{kind.singular}"
    api.patch(kind.plural, namespace, name, {"status": status}, sub="status")
    header, row = kube.kubectl("get", kind.singular, "-n", namespace).stdout.splitlines()
    columns = dict(zip(header.split(), row.split(), strict=True))
    assert header.split() == (["NAME", "AGE", "STATE"] if kind.crd.columns[0] == "Age" else ["NAME", "STATE", "AGE"])
    assert (columns["NAME"], columns["STATE"]) == (name, "Running")
    wide = kube.kubectl("get", kind.plural, "-n", namespace, "-o", "wide").stdout
    assert wide.splitlines()[0].split()[-2:] == ["WHY", "MESSAGE"]
    assert "Unschedulable   no node has a GPU" in wide


def test_all_jobs_of_a_namespace_are_listed_by_category_and_mpijobs_by_short_name(
    kube: cluster.Cluster, api: Api, namespace: str
) -> None:
    for kind in KINDS:
        api.create(namespace, job(kind))
    for category in ("kubeflow", "training"):
        found = kube.kubectl("get", category, "-n", namespace, "-o", "name").stdout.split()
        assert sorted(found) == sorted(f"{kind.singular}.kubeflow.org/my-{kind.singular}" for kind in KINDS)
    for kind in KINDS:
        for short in kind.crd.short_names:
            assert (
                kube.kubectl("get", short, "-n", namespace, "-o", "name").stdout
                == f"{kind.singular}.kubeflow.org/my-{kind.singular}\n"
            )


@pytest.mark.checklist(4)
@EACH_KIND
def test_status_and_spec_are_written_apart(api: Api, namespace: str, kind: JobKind) -> None:
    stored = api.create(namespace, job(kind))
    name = stored["metadata"]["name"]
    assert "status" not in stored
    changed = copy.deepcopy(stored)
    changed["spec"]["runPolicy"]["backoffLimit"] = 7
    changed["status"] = {"conditions": [{"type": "Created", "status": "True"}]}
    by_main = api.replace(kind.plural, namespace, name, changed)
    assert "status" not in by_main
    assert by_main["spec"]["runPolicy"]["backoffLimit"] == 7
    by_main["status"] = {"conditions": [{"type": "Created", "status": "True"}]}
    by_main["spec"]["runPolicy"]["backoffLimit"] = 8
    by_status = api.replace(kind.plural, namespace, name, by_main, sub="status")
    assert by_status["status"] == {"conditions": [{"type": "Created", "status": "True"}]}
    assert by_status["spec"]["runPolicy"]["backoffLimit"] == 7


def test_a_status_condition_needs_type_and_status(api: Api, namespace: str) -> None:
    api.create(namespace, job(BY_NAME["JAXJob"]))
    with rejected(422, "status.conditions[0].status"):
        api.patch("jaxjobs", namespace, "my-jaxjob", {"status": {"conditions": [{"type": "Created"}]}}, sub="status")


@pytest.mark.checklist(5)
@EACH_KIND
def test_only_kinds_whose_workers_may_change_have_scale(api: Api, namespace: str, kind: JobKind) -> None:
    api.create(namespace, job(kind))
    if kind.crd.scalable:
        assert api.get(kind.plural, namespace, f"my-{kind.singular}", sub="scale")["kind"] == "Scale"
    else:
        with rejected(404):
            api.get(kind.plural, namespace, f"my-{kind.singular}", sub="scale")


@pytest.mark.checklist(6, 7)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.crd.scalable], ids=lambda kind: kind.kind)
def test_scale_reads_and_writes_the_workers(kube: cluster.Cluster, api: Api, namespace: str, kind: JobKind) -> None:
    api.create(namespace, job(kind))
    name = f"my-{kind.singular}"
    status: Object = {"replicaStatuses": {"Worker": {"active": 1, "selector": "a=b"}}}
    if kind.crd.selector_in_status:
        status = {"selector": "a=b", "replicaStatuses": {"Worker": {"active": 1}}}
    api.patch(kind.plural, namespace, name, {"status": status}, sub="status")
    scale = api.get(kind.plural, namespace, name, sub="scale")
    assert (scale["spec"], scale["status"]) == ({"replicas": 1}, {"replicas": 1, "selector": "a=b"})
    scale["spec"]["replicas"] = 3
    api.replace(kind.plural, namespace, name, scale, sub="scale")
    assert api.get(kind.plural, namespace, name)["spec"][kind.replicas_field]["Worker"]["replicas"] == 3
    scaled = kube.kubectl("scale", kind.singular, name, "-n", namespace, "--replicas=2")
    assert scaled.returncode == 0, scaled.stderr
    assert api.get(kind.plural, namespace, name)["spec"][kind.replicas_field]["Worker"]["replicas"] == 2


@EACH_KIND
def test_explain_reports_fields_of_ours_and_deep_ones_of_the_template(kube: cluster.Cluster, api: Api, kind: JobKind) -> None:
    ours = kube.kubectl("explain", f"{kind.singular}.spec.runPolicy.backoffLimit").stdout
    assert "FIELD: backoffLimit <integer>" in ours
    assert "The number of restarts after which the job fails." in ours
    path = f"{kind.singular}.spec.{kind.replicas_field}.template.spec.containers.livenessProbe.httpGet.path"
    deep = kube.kubectl("explain", path)
    assert deep.returncode == 0, deep.stderr
    assert "FIELD: path <string>" in deep.stdout


def test_the_published_schema_has_the_list_keys_that_apply_merges_by(api: Api) -> None:
    openapi = api.call("GET", "/openapi/v3/apis/kubeflow.org/v1")
    node = openapi["components"]["schemas"]["org.kubeflow.v1.JAXJob"]["properties"]["spec"]["properties"]["jaxReplicaSpecs"]
    containers = node["additionalProperties"]["properties"]["template"]["properties"]["spec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_a_field_newer_than_the_schema_is_kept_in_the_template_and_nowhere_else(api: Api, namespace: str) -> None:
    document = unmanaged(minimal("JAXJob"))
    document["spec"]["fromTheFuture"] = True
    container = document["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["fromTheFuture"] = {"a": [1]}
    stored = api.create(namespace, document)
    assert "fromTheFuture" not in stored["spec"]
    assert stored["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0] == container


@EACH_KIND
def test_every_field_of_the_status_survives_the_schema(api: Api, namespace: str, kind: JobKind) -> None:
    api.create(namespace, job(kind))
    status = sample(crds.openapi(kind.plural, "v1")["properties"]["status"])
    found = api.patch(kind.plural, namespace, f"my-{kind.singular}", {"status": status}, sub="status")
    assert found["status"] == status


def sample(node: Object) -> object:
    """A value with every field of a schema."""
    match node["type"]:
        case "object" if "properties" in node:
            return {key: sample(inner) for key, inner in node["properties"].items()}
        case "object":
            return {"Worker": sample(node["additionalProperties"])}
        case "array":
            return [sample(node["items"])]
        case "string":
            return "2024-12-31T23:59:59Z" if node.get("format") == "date-time" else "text"
        case "boolean":
            return True
    return 1


def test_the_patch_that_the_python_client_sends_scales_a_job(api: Api, namespace: str) -> None:
    api.create(namespace, job(BY_NAME["PyTorchJob"]))
    patch = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}}
    found = api.patch("pytorchjobs", namespace, "my-pytorchjob", patch)
    assert found["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    assert len(json.dumps(found["spec"]["pytorchReplicaSpecs"]["Worker"]["template"])) > 1000


def test_strategic_merge_is_not_for_custom_resources(api: Api, namespace: str) -> None:
    api.create(namespace, job(BY_NAME["JAXJob"]))
    with pytest.raises(RejectedRequest, match="415"):
        api.call("PATCH", api.path("jaxjobs", namespace, "my-jaxjob"), {}, "application/strategic-merge-patch+json")
