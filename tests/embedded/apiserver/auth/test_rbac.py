from __future__ import annotations

import pytest
from tests.embedded.apiserver.auth.documents import account, binding, person, role, rule, team

from traincrew.embedded.apiserver.authn.users import User, administrator, anonymous, service_account
from traincrew.embedded.apiserver.authz import bootstrap_policy
from traincrew.embedded.apiserver.authz.attributes import Attributes, forbidden, non_resource, of_request
from traincrew.embedded.apiserver.authz.rbac import Policy

ANN = User("ann", ("red", "system:authenticated"))


def policy(*documents: dict[str, object]) -> Policy:
    found = Policy()
    for each in documents:
        found.put(each)
    return found


def may(of: Policy, user: User, verb: str, resource: str, *, group: str = "", namespace: str = "ns", name: str = "") -> bool:
    main, _, sub = resource.partition("/")
    return of.allowed(user, Attributes(verb, group, main, sub, namespace, name))[0]


def test_nothing_is_allowed_that_was_not_granted() -> None:
    assert policy().allowed(ANN, Attributes("get", resource="pods", namespace="ns")) == (False, "")


def test_masters_may_do_everything_without_any_object() -> None:
    assert policy().allowed(administrator(), Attributes("delete", resource="nodes")) == (True, "")
    assert policy().allowed(administrator(), non_resource("get", "/metrics")) == (True, "")


def test_a_role_holds_in_its_namespace_alone() -> None:
    of = policy(role("r", rule("get", "pods"), namespace="ns"), binding("b", "Role/r", person("ann"), namespace="ns"))
    assert may(of, ANN, "get", "pods")
    assert not may(of, ANN, "get", "pods", namespace="other")
    assert not may(of, ANN, "get", "pods", namespace="")


def test_a_cluster_role_bound_in_a_namespace_holds_there_alone() -> None:
    of = policy(role("r", rule("get", "pods")), binding("b", "ClusterRole/r", team("red"), namespace="ns"))
    assert may(of, ANN, "get", "pods")
    assert not may(of, ANN, "get", "pods", namespace="other")


def test_the_reason_names_binding_role_and_subject() -> None:
    of = policy(role("r", rule("get", "pods"), namespace="ns"), binding("b", "Role/r", account("sa"), namespace="ns"))
    asked = Attributes("get", resource="pods", namespace="ns")
    message = 'RBAC: allowed by RoleBinding "b/ns" of Role "r" to ServiceAccount "sa/ns"'
    assert of.allowed(service_account("ns", "sa"), asked) == (True, message)
    of.put(binding("c", "ClusterRole/x", team("red")))
    of.put(role("x", rule("*", "*", "*")))
    assert of.allowed(ANN, asked) == (True, 'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "x" to Group "red"')


def test_a_launcher_execs_into_its_own_workers_and_no_other_pod() -> None:
    rules = (rule("get list watch", "pods"), rule("create", "pods/exec", names="job-worker-0 job-worker-1"))
    of = policy(role("job", *rules, namespace="ns"), binding("job", "Role/job", account("job"), namespace="ns"))
    launcher = service_account("ns", "job")
    assert may(of, launcher, "create", "pods/exec", name="job-worker-1")
    assert not may(of, launcher, "create", "pods/exec", name="other-worker-0")
    assert not may(of, launcher, "create", "pods/attach", name="job-worker-1")
    assert not may(of, launcher, "create", "pods")
    assert not may(of, service_account("ns", "another"), "create", "pods/exec", name="job-worker-1")
    assert not may(of, service_account("other", "job"), "create", "pods/exec", name="job-worker-1")


@pytest.mark.parametrize(
    ("written", "allowed", "refused"),
    [
        ("pods", "pods", "pods/log"),
        ("pods/log", "pods/log", "pods"),
        ("*/status", "jobs/status", "jobs"),
        ("*", "pods/exec", None),
        ("pods/*", None, "pods/log"),
    ],
)
def test_resources_and_subresources_are_told_apart(written: str, allowed: str | None, refused: str | None) -> None:
    of = policy(role("r", rule("get", written)), binding("b", "ClusterRole/r", person("ann")))
    assert allowed is None or may(of, ANN, "get", allowed)
    assert refused is None or not may(of, ANN, "get", refused)


def test_resource_names_do_not_let_lists_pass() -> None:
    of = policy(role("r", rule("get list", "pods", names="a")), binding("b", "ClusterRole/r", person("ann")))
    assert may(of, ANN, "get", "pods", name="a")
    assert not may(of, ANN, "get", "pods", name="b")
    assert not may(of, ANN, "list", "pods")


@pytest.mark.parametrize(
    ("written", "path", "allowed"),
    [("/a", "/a", True), ("/a", "/a/b", False), ("/a/*", "/a/b/c", True), ("/a/*", "/a", False), ("*", "/x", True)],
)
def test_paths_match_by_prefix_where_a_star_ends_them(written: str, path: str, allowed: bool) -> None:
    of = policy(role("r", rule("get", urls=written)), binding("b", "ClusterRole/r", person("ann")))
    assert of.allowed(ANN, non_resource("get", path))[0] is allowed
    assert not of.allowed(ANN, non_resource("post", path))[0]


def test_every_change_is_felt_at_once() -> None:
    of = policy()
    asked = Attributes("get", resource="pods", namespace="ns")
    assert not of.allowed(ANN, asked)[0]
    of.put(binding("b", "Role/r", person("ann"), namespace="ns"))
    assert of.allowed(ANN, asked) == (False, 'RBAC: role.rbac.authorization.k8s.io "r" not found')
    of.put(role("r", rule("get", "pods"), namespace="ns"))
    assert of.allowed(ANN, asked)[0]
    of.put(role("r", rule("list", "pods"), namespace="ns"))
    assert not of.allowed(ANN, asked)[0]
    of.put(role("r", rule("get", "pods"), namespace="ns"))
    of.put(binding("b", "Role/r", person("bob"), namespace="ns"))
    assert not of.allowed(ANN, asked)[0]
    assert of.allowed(User("bob"), asked)[0]
    of.remove("RoleBinding", "ns", "b")
    assert not of.allowed(User("bob"), asked)[0]


def test_what_is_removed_twice_or_was_never_there_does_no_harm() -> None:
    of = policy(binding("b", "ClusterRole/r", person("ann"), person("ann")), role("r", rule("get", "pods"), namespace="ns"))
    for _ in range(2):
        for kind, namespace in (("ClusterRoleBinding", ""), ("RoleBinding", "ns"), ("Role", "ns"), ("ClusterRole", "")):
            of.remove(kind, namespace, "b")
            of.remove(kind, namespace, "r")
    assert of.allowed(ANN, Attributes("get", resource="pods", namespace="ns")) == (False, "")


def test_a_name_that_is_both_user_and_group_is_told_apart() -> None:
    of = policy(role("r", rule("get", "pods")), binding("b", "ClusterRole/r", team("ann")))
    assert not may(of, ANN, "get", "pods")
    assert may(of, User("someone", ("ann",)), "get", "pods")


def test_several_roles_that_are_not_there_are_all_told() -> None:
    of = policy(binding("b", "ClusterRole/x", person("ann")), binding("c", "Role/y", person("ann"), namespace="ns"))
    message = 'RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found, role.rbac.authorization.k8s.io "y" not found]'
    assert of.allowed(ANN, Attributes("get", resource="pods", namespace="ns")) == (False, message)


def test_the_words_of_a_refusal_are_the_api_servers() -> None:
    asked = Attributes("list", resource="pods", namespace="ns")
    refused = forbidden(service_account("ns", "sa"), asked)
    words = 'User "system:serviceaccount:ns:sa" cannot list resource "pods" in API group "" in the namespace "ns"'
    assert refused.message == f"pods is forbidden: {words}"
    assert refused.status()["code"] == 403
    assert forbidden(ANN, non_resource("get", "/metrics")).message == 'forbidden: User "ann" cannot get path "/metrics"'


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/namespaces/ns", Attributes("get", "", "namespaces", "", "ns", "ns")),
        ("GET", "/api/v1/namespaces", Attributes("list", "", "namespaces")),
        ("PUT", "/api/v1/namespaces/ns/status", Attributes("update", "", "namespaces", "status", "ns", "ns")),
        ("DELETE", "/api/v1/namespaces/ns/pods", Attributes("deletecollection", "", "pods", "", "ns")),
        ("POST", "/api/v1/namespaces/ns/pods/p/exec", Attributes("create", "", "pods", "exec", "ns", "p")),
        ("GET", "/apis/batch/v1/watch/jobs", Attributes("watch", "batch", "jobs")),
        ("GET", "/apis/batch/v1", non_resource("get", "/apis/batch/v1")),
        ("GET", "/", non_resource("get", "/")),
        ("POST", "/version", non_resource("post", "/version")),
    ],
)
def test_a_request_line_tells_what_is_asked(method: str, path: str, expected: Attributes) -> None:
    assert of_request(method, path) == expected


def test_a_field_selector_on_the_name_names_the_object() -> None:
    found = of_request("GET", "/api/v1/pods", True, "status.phase=Running,metadata.name==a")
    assert found == Attributes("watch", "", "pods", name="a")
    assert of_request("GET", "/api/v1/pods", False, "metadata.name!=a").name == ""


def test_the_default_roles_are_what_clients_count_on() -> None:
    of = policy(*bootstrap_policy.objects())
    of.put(binding("v", "ClusterRole/view", person("viewer"), namespace="ns"))
    of.put(binding("e", "ClusterRole/edit", person("editor"), namespace="ns"))
    of.put(binding("a", "ClusterRole/admin", person("boss"), namespace="ns"))
    viewer, editor, boss = User("viewer"), User("editor"), User("boss")
    assert may(of, viewer, "list", "pods")
    assert may(of, viewer, "get", "pods/log")
    assert not may(of, viewer, "get", "secrets")
    assert not may(of, viewer, "create", "pods")
    assert may(of, editor, "create", "pods/exec")
    assert may(of, editor, "list", "pods")
    assert not may(of, editor, "create", "roles", group="rbac.authorization.k8s.io")
    assert may(of, boss, "create", "roles", group="rbac.authorization.k8s.io")
    assert may(of, boss, "get", "secrets")
    assert not may(of, boss, "list", "pods", namespace="other")
    assert of.allowed(User("x", ("system:authenticated",)), non_resource("get", "/openapi/v3"))[0]
    assert of.allowed(anonymous(), non_resource("get", "/healthz"))[0]
    assert not of.allowed(anonymous(), non_resource("get", "/api"))[0]


def test_memory_for_answers_is_bounded() -> None:
    of = policy(role("r", rule("get", urls="/a*")), binding("b", "ClusterRole/r", team("system:authenticated")))
    for index in range(5_000):
        user = User(f"user-{index}", ("system:authenticated",))
        assert of.allowed(user, non_resource("get", f"/a{index}"))[0]
        assert of.allowed(ANN, non_resource("get", f"/a{index}"))[0]
        assert not of.allowed(ANN, Attributes(f"v{index}", resource="pods"))[0]
    assert sum(len(known) for known in of._rights.values()) <= 1_000
    assert all(len(rights._paths) <= 1_000 and len(rights._candidates) <= 1_000 for rights in of._rights[""].values())
