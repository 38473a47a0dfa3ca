"""RBAC: roles and bindings as objects, forbidden requests, access reviews."""

from __future__ import annotations

from typing import Any

from tests.differential import bodies
from tests.differential.bodies import config_map, manifest, pod
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

RBAC = "rbac.authorization.k8s.io/v1"
AUTHORIZATION = "authorization.k8s.io/v1"


def role(name: str, *rules: dict[str, Any], kind: str = "Role") -> dict[str, Any]:
    return manifest(RBAC, kind, name, {"rules": list(rules)})


def rule(resources: str, verbs: str, group: str = "", **rest: Any) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **rest}


def binding(name: str, role_name: str, *subjects: dict[str, Any], kind: str = "Role") -> dict[str, Any]:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role_name}
    return manifest(RBAC, "RoleBinding", name, {"roleRef": reference, "subjects": list(subjects)})


def account(p: ScenarioClient, *rules: dict[str, Any]) -> str:
    """Creates a service account with these rules, waits until they apply, and returns its token."""
    p.create("serviceaccounts", manifest("v1", "ServiceAccount", "sa", {}))
    p.create("roles", role("r", *rules))
    p.create("rolebindings", binding("b", "r", {"kind": "ServiceAccount", "name": "sa", "namespace": p.namespace}))
    if rules:
        first = {
            "namespace": p.namespace,
            "verb": rules[0]["verbs"][0],
            "group": rules[0]["apiGroups"][0],
            "resource": rules[0]["resources"][0],
        }
        spec = {"user": f"system:serviceaccount:{p.namespace}:sa", "resourceAttributes": first}
        p.until(lambda response: response.at("status.allowed") is True, p.path("subjectaccessreviews"), {"spec": spec})
    return str(p.create("serviceaccounts", {"spec": {}}, "sa", "token").at("status.token"))


@scenario("access")
def requests_without_permission(p: ScenarioClient) -> None:
    token = account(p, rule("configmaps", "get list"), rule("pods/log", "get"), rule("secrets", "get", resourceNames=["mine"]))
    p.create("configmaps", config_map("a"))
    p.create("secrets", bodies.secret("mine"))
    p.create("pods", pod("x"))
    p.use_token(token)
    p.read("configmaps", "a")
    p.list("configmaps", labelSelector="none")
    p.list("configmaps", everywhere=True)
    p.send("GET", p.path("configmaps"), watch="true")
    p.create("configmaps", config_map("b"))
    p.delete("configmaps", "a")
    p.delete("configmaps")
    p.patch("merge", "configmaps", "a", {"data": {}})
    p.replace("configmaps", "a", config_map("a"))
    p.read("secrets", "mine")
    p.read("secrets", "other")
    p.list("secrets")
    p.read("pods", "x")
    p.read("pods", "x", "log")
    p.create("pods", pod("y"))
    p.send("POST", p.path("pods", "x", "exec"), command="ls")
    p.create("pods", {}, "x", "eviction")
    p.list("nodes")
    p.read("nodes", "x")
    p.read("namespaces", p.namespace)
    p.list("pytorchjobs")
    p.patch("merge", "pytorchjobs", "t", {}, "status")
    p.send("GET", "/metrics")
    p.send("GET", "/nothing")
    p.send("GET", "/apis/none.example.com/v1/namespaces/x/things")
    p.send("GET", "/healthz")
    p.send("GET", "/version", keep=lambda body: sorted(body) if isinstance(body, dict) else body)
    p.create("serviceaccounts", {"spec": {}}, "sa", "token")


@scenario("access")
def privilege_escalation(p: ScenarioClient) -> None:
    token = account(p, rule("roles rolebindings", "create update patch get", "rbac.authorization.k8s.io"), rule("pods", "get"))
    p.use_token(token)
    p.create("roles", role("same", rule("pods", "get")))
    p.create("roles", role("more", rule("pods", "get delete"), rule("secrets", "get")))
    p.create("rolebindings", binding("b1", "r", {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}))
    p.create(
        "rolebindings",
        binding(
            "b2", "cluster-admin", {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}, kind="ClusterRole"
        ),
    )
    p.patch("merge", "roles", "r", {"rules": [rule("*", "*", "*")]})
    p.create("rolebindings", binding("b3", "none", {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}))


@scenario("access")
def roles_and_bindings_as_objects(p: ScenarioClient) -> None:
    p.create("roles", role("r", rule("pods", "get")))
    p.create("roles", role("bad", {"resources": ["pods"], "verbs": []}))
    p.create("roles", role("bad", {"resources": ["pods"], "verbs": ["get"]}))
    p.create("roles", role("bad", {"nonResourceURLs": ["/x"], "verbs": ["get"]}))
    p.create("roles", role("Any:Name/not", rule("pods", "get")))
    p.create("roles", role("any:name", rule("pods", "get")))
    p.create("rolebindings", binding("b", "r", {"kind": "ServiceAccount", "name": "default"}))
    p.create("rolebindings", binding("b2", "r", {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}))
    p.create("rolebindings", binding("b3", "r", {"kind": "Robot", "name": "u"}))
    p.create("rolebindings", binding("b4", "", {"kind": "User", "name": ""}))
    p.create("rolebindings", binding("b5", "r", kind="Thing"))
    p.patch(
        "merge", "rolebindings", "b2", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "other"}}
    )
    p.create("clusterroles", role(p.name("c"), {"nonResourceURLs": ["/x", "/y/*"], "verbs": ["get"]}, kind="ClusterRole"))
    p.create(
        "clusterroles",
        role(p.name("d"), {"nonResourceURLs": ["/x"], "resources": ["pods"], "verbs": ["get"]}, kind="ClusterRole"),
    )
    p.delete("clusterroles", p.name("c"))
    p.delete("roles", "r")


@scenario("access")
def subject_access_reviews(p: ScenarioClient) -> None:
    account(p, rule("configmaps", "get list"), rule("secrets", "get", resourceNames=["mine"]), rule("*", "watch", "kubeflow.org"))
    user = f"system:serviceaccount:{p.namespace}:sa"
    specs: tuple[dict[str, Any], ...] = (
        {"verb": "get", "resource": "configmaps"}, {"verb": "get", "resource": "configmaps", "name": "a"},
        {"verb": "delete", "resource": "configmaps"}, {"verb": "get", "resource": "secrets", "name": "mine"},
        {"verb": "get", "resource": "secrets"}, {"verb": "*", "resource": "*"},
        {"verb": "watch", "group": "kubeflow.org", "resource": "tfjobs"},
        {"verb": "watch", "group": "kubeflow.org", "resource": "tfjobs", "subresource": "status"},
        {"verb": "get", "resource": "nothings"},
    )  # fmt: skip
    for attributes in specs:
        body = {"apiVersion": AUTHORIZATION, "kind": "SubjectAccessReview"}
        p.create(
            "subjectaccessreviews",
            {**body, "spec": {"user": user, "resourceAttributes": {"namespace": p.namespace, **attributes}}},
        )
    for spec in (
        {}, {"user": user}, {"resourceAttributes": {"verb": "get"}},
        {"user": user, "nonResourceAttributes": {"path": "/healthz", "verb": "get"}},
        {"user": user, "nonResourceAttributes": {"path": "/x", "verb": "get"}},
        {"groups": ["system:masters"], "nonResourceAttributes": {"path": "/x", "verb": "get"}},
        {"user": user, "resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/"}},
    ):  # fmt: skip
        p.create("subjectaccessreviews", {"apiVersion": AUTHORIZATION, "kind": "SubjectAccessReview", "spec": spec})
    local = {"user": user, "resourceAttributes": {"namespace": p.namespace, "verb": "get", "resource": "configmaps"}}
    p.create("localsubjectaccessreviews", {"apiVersion": AUTHORIZATION, "kind": "LocalSubjectAccessReview", "spec": local})
    local["resourceAttributes"] = {"namespace": "elsewhere", "verb": "get", "resource": "configmaps"}
    p.create("localsubjectaccessreviews", {"apiVersion": AUTHORIZATION, "kind": "LocalSubjectAccessReview", "spec": local})


@scenario("access")
def self_subject_reviews(p: ScenarioClient) -> None:
    token = account(p, rule("configmaps", "get list"))

    def review(**attributes: Any) -> None:
        body = {"apiVersion": AUTHORIZATION, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
        p.create("selfsubjectaccessreviews", body)

    review(verb="*", resource="*", group="*")
    p.create("selfsubjectaccessreviews", {"apiVersion": AUTHORIZATION, "kind": "SelfSubjectAccessReview", "spec": {}})
    p.create("selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    p.use_token(token)
    review(verb="get", resource="configmaps", namespace=p.namespace)
    review(verb="get", resource="configmaps")
    review(verb="delete", resource="configmaps", namespace=p.namespace)
    rules = {"apiVersion": AUTHORIZATION, "kind": "SelfSubjectRulesReview", "spec": {"namespace": p.namespace}}
    p.create("selfsubjectrulesreviews", rules)
    p.create("selfsubjectrulesreviews", {**rules, "spec": {}})


@scenario("access")
def permissions_of_an_impersonated_user(p: ScenarioClient) -> None:
    p.create("roles", role("r", rule("configmaps", "get")))
    p.create("rolebindings", binding("b", "r", {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}))
    spec = {"user": "jane", "resourceAttributes": {"namespace": p.namespace, "verb": "get", "resource": "configmaps"}}
    p.until(lambda response: response.at("status.allowed") is True, p.path("subjectaccessreviews"), {"spec": spec})
    p.send("GET", p.path("configmaps", "none"), None, {"Impersonate-User": "jane"})
    p.send("GET", p.path("secrets", "none"), None, {"Impersonate-User": "jane"})
    p.send("GET", p.path("secrets"), None, {"Impersonate-User": f"system:serviceaccount:{p.namespace}:default"})
