"""Discovery and OpenAPI, compared with the real API server."""

import json
import pathlib
import re
from typing import Any

import pytest
from tests.cluster import discovery_server
from tests.cluster.api import Api, Object
from tests.embedded.apiserver.printers.crd_resources import all_resources
from tools.kube import cluster

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.discovery import aggregated
from traincrew.embedded.apiserver.discovery import documents as discovery_documents
from traincrew.embedded.apiserver.openapi import documents
from traincrew.embedded.apiserver.schema import builtin_kinds


def test_discovery_reports_the_same_of_what_is_served(api: Api) -> None:
    groups = {each.group for each in all_resources()}
    listed = api.call("GET", "/apis")
    listed["groups"] = [group for group in listed["groups"] if group["name"] in groups]
    assert discovery_documents.group_list(all_resources()) == listed
    for group, version in {(each.group, each.version) for each in all_resources()}:
        ours = discovery_documents.resource_list(all_resources(), group, version)
        assert ours is not None
        names = {entry["name"] for entry in ours["resources"]}
        real = api.call("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
        real["resources"] = [entry for entry in real["resources"] if entry["name"] in names]
        for document in (ours, real):  # custom resources come in no order
            document["resources"].sort(key=lambda entry: entry["name"])
        assert ours == real


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_aggregated_discovery_reports_the_same_of_what_is_served(api: Api, version: str) -> None:
    known = {(each.group, each.version, each.plural): each for each in all_resources()}
    for path, ours in (
        ("/api", aggregated.core(all_resources(), version)),
        ("/apis", aggregated.groups(all_resources(), version)),
    ):
        real = as_form(api, path, f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList")
        for group in real["items"]:
            for served_version in group["versions"]:
                place = (group["metadata"].get("name", ""), served_version["version"])
                served_version["resources"] = [
                    known_part(entry, known[*place, entry["resource"]])
                    for entry in served_version["resources"]
                    if (*place, entry["resource"]) in known
                ]
            group["versions"] = [served_version for served_version in group["versions"] if served_version["resources"]]
        real["items"] = [group for group in real["items"] if group["versions"]]
        assert ours == real


@pytest.mark.parametrize(
    "place", ["api/v1", "apis/apps/v1", "apis/batch/v1", "apis/kubeflow.org/v1", "apis/kubeflow.org/v2beta1"]
)
def test_documents_define_kinds_and_operations_alike(api: Api, place: str) -> None:
    group = place.split("/")[1] if place.startswith("apis/") else ""
    ours = documents.document(all_resources(), group, place.rpartition("/")[2], builtin_kinds.described_definitions())
    assert ours is not None
    real = api.call("GET", f"/openapi/v3/{place}")
    for name, schema in ours["components"]["schemas"].items():
        assert bare(schema, name) == bare(real["components"]["schemas"][name], name), name
    for path, item in ours["paths"].items():
        found = real["paths"][path]
        assert item.keys() == found.keys(), path
        for method in item.keys() - {"parameters"}:
            assert marks(item[method]) == marks(found[method]), (path, method)


def bare(schema: Any, name: str = "") -> Any:
    """Without what no client reads, without the groups that share a kind of meta/v1."""
    left_out = ("x-kubernetes-unions", "x-kubernetes-group-version-kind" if name.startswith("io.k8s.apimachinery") else "")
    if isinstance(schema, dict):
        return {key: bare(inner) for key, inner in schema.items() if key not in left_out}
    return [bare(inner) for inner in schema] if isinstance(schema, list) else schema


def marks(operation: Object) -> Object:
    kept = {key: operation.get(key) for key in ("operationId", "x-kubernetes-action", "x-kubernetes-group-version-kind")}
    return kept | {"responses": sorted(operation["responses"])}


def known_part(entry: Object, served: ResourceInfo) -> Object:
    parts = [part for part in entry.get("subresources", ()) if served.subresource(part["subresource"])]
    return {key: value for key, value in entry.items() if key != "subresources"} | ({"subresources": parts} if parts else {})


EXPLAINED = (
    "pods", "pods.spec.containers.env.valueFrom", "pods.metadata", "services.spec.ports", "deployments.spec", "jobs.spec",
    "configmaps", "events", "nodes.status", "persistentvolumeclaims", "roles.rules", "leases", "horizontalpodautoscalers.spec",
    "customresourcedefinitions.spec.versions", "tfjobs", "pytorchjobs.spec", "mpijobs.spec.mpiReplicaSpecs", "jaxjobs.status",
    "jaxjobs.spec.jaxReplicaSpecs.template.spec.containers", "pods.spec.nothing", "nothing",
)  # fmt: skip


def test_explain_names_the_same_fields(kube: cluster.Cluster, api: Api, tmp_path: pathlib.Path) -> None:
    with discovery_server.serving(api, all_resources(), tmp_path) as kubeconfig:
        ours = cluster.Cluster(kubeconfig, kube._kubectl)
        for what in EXPLAINED:
            for flags in (("--recursive",), ()):
                answers = [each.kubectl("explain", what, *flags) for each in (ours, kube)]
                assert answers[0].returncode == answers[1].returncode
                assert fields(answers[0].stdout) == fields(answers[1].stdout), what
                assert answers[0].stderr == answers[1].stderr


def fields(explained: str) -> list[str]:
    """The lines that name a field or a resource; the rest is prose."""
    return [line for line in explained.splitlines() if re.match(r"(GROUP|KIND|VERSION|FIELD): |\s+\S+\t<|ENUM:|\s+enum: ", line)]


def test_kubectl_creates_applies_and_compares_by_our_documents(
    kube: cluster.Cluster, api: Api, namespace: str, tmp_path: pathlib.Path
) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    replicas = {"Worker": {"template": {"spec": {"containers": [{"name": "jax", "image": "i"}]}}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "j"}, "spec": {"jaxReplicaSpecs": replicas}}
    with discovery_server.serving(api, all_resources(), tmp_path) as kubeconfig:
        ours = cluster.Cluster(kubeconfig, kube._kubectl)

        def served_version(*arguments: str, body: Object) -> tuple[int, str]:
            answer = ours.kubectl(f"--namespace={namespace}", *arguments, "-f", "-", input=json.dumps(body))
            return answer.returncode, answer.stdout + answer.stderr

        for body, name in ((config_map, "configmap/c"), (job, "jaxjob.kubeflow.org/j")):
            assert served_version("create", "--validate=strict", "--save-config", body=body) == (0, f"{name} created\n")
            assert served_version("apply", body=body) == (0, f"{name} unchanged\n")
            assert served_version("diff", body=body) == (0, "")
            changed = body | {"metadata": {"name": body["metadata"]["name"], "labels": {"color": "red"}}}  # type: ignore[index]
            code, difference = served_version("diff", body=changed)
            assert (code, "+    color: red" in difference) == (1, True)
            assert served_version("apply", body=changed) == (0, f"{name} configured\n")
            code, rejection = served_version("create", "--validate=strict", body=body | {"foo": 1})
            assert (code, 'unknown field "foo"' in rejection) == (1, True)


def as_form(api: Api, path: str, accept: str) -> Any:
    response = api.session.get(api.server + path, headers={"Accept": accept}, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()
