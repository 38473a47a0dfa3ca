"""Discovery, aggregated or not, of the resources that both servers have; versions, health, unknown paths."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

AGGREGATED = {
    "Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
}
GROUPS = (
    "apiextensions.k8s.io/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1", "autoscaling/v1", "autoscaling/v2",
    "batch/v1", "coordination.k8s.io/v1", "events.k8s.io/v1", "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1",
    "kubeflow.org/v1", "policy/v1", "storage.k8s.io/v1", "apps/v1",
)  # fmt: skip
CORE = (
    "bindings", "configmaps", "endpoints", "events", "limitranges", "namespaces", "namespaces/finalize", "namespaces/status",
    "nodes", "nodes/status", "persistentvolumeclaims", "persistentvolumeclaims/status", "persistentvolumes",
    "persistentvolumes/status", "pods", "pods/attach", "pods/binding", "pods/eviction", "pods/exec", "pods/log",
    "pods/portforward", "pods/status", "resourcequotas", "resourcequotas/status", "secrets", "serviceaccounts",
    "serviceaccounts/token", "services", "services/status",
)  # fmt: skip
OTHERS = {
    "apiextensions.k8s.io/v1": ("customresourcedefinitions", "customresourcedefinitions/status"),
    "authentication.k8s.io/v1": ("selfsubjectreviews", "tokenreviews"),
    "authorization.k8s.io/v1": (
        "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews",
    ),
    "autoscaling/v2": ("horizontalpodautoscalers", "horizontalpodautoscalers/status"),
    "autoscaling/v1": ("horizontalpodautoscalers", "horizontalpodautoscalers/status"),
    "batch/v1": ("jobs", "jobs/status"),
    "coordination.k8s.io/v1": ("leases",),
    "events.k8s.io/v1": ("events",),
    "rbac.authorization.k8s.io/v1": ("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
    "scheduling.k8s.io/v1": ("priorityclasses",),
    "kubeflow.org/v1": tuple(
        f"{kind}{sub}" for kind in ("tfjobs", "pytorchjobs", "mpijobs", "xgboostjobs", "paddlejobs", "jaxjobs")
        for sub in ("", "/status", "/scale")
    ),
}  # fmt: skip
"""Discovery is compared for these resources only: the real server has many more."""


def selected_resources(body: Any, names: tuple[str, ...]) -> Any:
    """The document with only these resources, sorted by name."""
    if not isinstance(body, dict) or not isinstance(body.get("resources"), list):
        return body
    kept = [each for each in body["resources"] if isinstance(each, dict) and each.get("name") in names]
    # The hash depends on the storage in etcd and differs between servers.
    bare = [{key: value for key, value in each.items() if key != "storageVersionHash"} for each in kept]
    return {**body, "resources": sorted(bare, key=lambda each: str(each["name"]))}


@scenario("discovery", namespaced=False)
def resources_of_the_core(p: ScenarioClient) -> None:
    p.send("GET", "/api/v1", keep=lambda body: selected_resources(body, CORE))
    p.send("GET", "/api")


@scenario("discovery", namespaced=False)
def resources_of_the_groups(p: ScenarioClient) -> None:
    for group, names in OTHERS.items():
        p.send("GET", f"/apis/{group}", keep=lambda body, names=names: selected_resources(body, names))


def group_of(body: Any, name: str) -> Any:
    groups = body.get("groups", []) if isinstance(body, dict) else []
    return next((each for each in groups if each.get("name") == name), "absent")


@scenario("discovery", namespaced=False)
def groups_and_their_versions(p: ScenarioClient) -> None:
    for group in sorted({each.split("/")[0] for each in OTHERS}):
        p.send("GET", "/apis", keep=lambda body, group=group: group_of(body, group))
        p.send("GET", f"/apis/{group}")


def aggregated(body: Any, group: str, version: str, names: tuple[str, ...]) -> Any:
    """One version of one group of an aggregated document."""
    items = body.get("items", []) if isinstance(body, dict) else []
    for item in items:
        if item.get("metadata", {}).get("name", "") != group:
            continue
        for each in item.get("versions", []):
            if each.get("version") == version:
                resources = [one for one in each.get("resources", []) if one.get("resource") in names]
                return {**each, "resources": sorted((_sorted(one, names) for one in resources), key=lambda one: one["resource"])}
    return "absent"


def _sorted(resource: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    subs = resource.get("subresources") or []
    known = [each for each in subs if f"{resource['resource']}/{each.get('subresource')}" in names]
    return {**resource, "subresources": sorted(known, key=lambda each: str(each.get("subresource")))}


@scenario("discovery", namespaced=False)
def aggregated_discovery(p: ScenarioClient) -> None:
    p.send("GET", "/api", None, AGGREGATED, keep=lambda body: aggregated(body, "", "v1", CORE))
    for name, names in OTHERS.items():
        group, version = name.split("/")
        keep = lambda body, group=group, version=version, names=names: aggregated(body, group, version, names)  # noqa: E731
        p.send("GET", "/apis", None, AGGREGATED, keep=keep)


def keys(document: Any) -> Any:
    """The keys of a document. The real server sends some of its JSON as plain text."""
    with contextlib.suppress(ValueError):
        document = json.loads(document) if isinstance(document, str) else document
    return sorted(document) if isinstance(document, dict) else document


@scenario("discovery", namespaced=False)
def non_resource_urls(p: ScenarioClient) -> None:
    p.send("GET", "/version", keep=keys)
    p.send("GET", "/healthz")
    p.send("GET", "/livez")
    p.send("GET", "/readyz")
    p.send("GET", "/openapi/v3", keep=keys)
    p.send("GET", "/openapi/v3/api/v1", keep=keys)
    p.send("GET", "/openapi/v3/apis/kubeflow.org/v1", keep=keys)
    p.send("GET", "/openapi/v3/apis/none/v1")
    p.send("GET", "/openapi/v2", keep=keys)


@scenario("http", namespaced=False)
def unknown_paths(p: ScenarioClient) -> None:
    for path in (
        "/nothing", "/api/v2", "/api/v1/nothings", "/apis/none.example.com", "/apis/none.example.com/v1", "/apis/batch/v9",
        "/apis/none.example.com/v1/namespaces/default/things", "/apis/batch/v1/nothings", "/apis/kubeflow.org/v9/tfjobs",
        "/apis/kubeflow.org/v1/namespaces/default/nothings", "/api/v1/namespaces/default/pods/x/nothing",
        "/api/v1/namespaces/default/nothings/x", "/api/v1/nodes/x/y/z", "/api/v1/namespaces/default/configmaps/x/status",
        "/api/v1/namespaces/default/pods/x/log/y", "/apis/batch/v1/jobs/x", "/api/v1/pods/x", "/apis/kubeflow.org/v1/tfjobs/x",
        "/api/", "//api/v1", "/api//v1/namespaces", "/api/v1/namespaces/default/",
    ):  # fmt: skip
        p.send("GET", path)
    p.send("POST", "/nothing", {})
    p.send("POST", "/api/v1/nothings", {})
    p.send("DELETE", "/apis/batch/v1")


@scenario("http", namespaced=False)
def methods_that_are_not_allowed(p: ScenarioClient) -> None:
    for method, path in (
        ("PUT", "/api/v1/namespaces/default/configmaps"), ("PATCH", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps/x"), ("POST", "/api/v1/configmaps"), ("PUT", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"), ("DELETE", "/api/v1/namespaces/default/services/x/status"),
        ("GET", "/api/v1/namespaces/default/pods/x/binding"), ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("DELETE", "/api/v1/namespaces/default/pods/x/log"), ("PUT", "/apis/kubeflow.org/v1/namespaces/default/tfjobs"),
        ("POST", "/apis/kubeflow.org/v1/namespaces/default/tfjobs/x"),
        ("DELETE", "/apis/kubeflow.org/v1/namespaces/default/tfjobs/x/status"),
        ("POST", "/apis/kubeflow.org/v1/namespaces/default/tfjobs/x/scale"), ("TRACE", "/api/v1/namespaces"),
        ("OPTIONS", "/api/v1/namespaces"), ("NONSENSE", "/api/v1/namespaces/default"), ("POST", "/version"), ("PUT", "/api"),
        ("GET", "/api/v1/namespaces/default/serviceaccounts/default/token"),
        ("GET", "/api/v1/namespaces/default/pods/x/eviction"),
    ):  # fmt: skip
        p.send(method, path, {} if method in ("PUT", "POST", "PATCH") else None)


@scenario("http", namespaced=False)
def head_requests(p: ScenarioClient) -> None:
    p.send("HEAD", "/api/v1/namespaces/default")
    p.send("HEAD", "/api/v1/namespaces/none")
