from __future__ import annotations

import pytest
from tests.embedded.apiserver.auth.rbac_objects import binding, group_subject, role, rule, service_account_subject, user_subject

from traincrew.embedded.apiserver.authn.users import User, administrator, anonymous, service_account
from traincrew.embedded.apiserver.authz import bootstrap_policy
from traincrew.embedded.apiserver.authz.attributes import Attributes, forbidden, non_resource, of_request
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy

ANN = User("ann", ("red", "system:authenticated"))


def policy(*documents: dict[str, object]) -> RBACPolicy:
    rbac = RBACPolicy()
    for each in documents:
        rbac.put(each)
    return rbac


def is_allowed(
    of: RBACPolicy, user: User, verb: str, resource: str, *, group: str = "", namespace: str = "ns", name: str = ""
) -> bool:
    main, _, sub = resource.partition("/")
    return of.allowed(user, Attributes(verb, group, main, sub, namespace, name))[0]


def test_nothing_is_allowed_that_was_not_granted() -> None:
    assert policy().allowed(ANN, Attributes("get", resource="pods", namespace="ns")) == (False, "")


def test_masters_may_do_everything_without_any_object() -> None:
    assert policy().allowed(administrator(), Attributes("delete", resource="nodes")) == (True, "")
    assert policy().allowed(administrator(), non_resource("get", "/metrics")) == (True, "")


def test_a_role_applies_only_in_its_namespace() -> None:
    of = policy(role("r", rule("get", "pods"), namespace="ns"), binding("b", "Role/r", user_subject("ann"), namespace="ns"))
    assert is_allowed(of, ANN, "get", "pods")
    assert not is_allowed(of, ANN, "get", "pods", namespace="other")
    assert not is_allowed(of, ANN, "get", "pods", namespace="")


def test_a_cluster_role_bound_in_a_namespace_applies_only_there() -> None:
    of = policy(role("r", rule("get", "pods")), binding("b", "ClusterRole/r", group_subject("red"), namespace="ns"))
    assert is_allowed(of, ANN, "get", "pods")
    assert not is_allowed(of, ANN, "get", "pods", namespace="other")


def test_the_reason_names_binding_role_and_subject() -> None:
    of = policy(
        role("r", rule("get", "pods"), namespace="ns"), binding("b", "Role/r", service_account_subject("sa"), namespace="ns")
    )
    requested = Attributes("get", resource="pods", namespace="ns")
    message = 'RBAC: allowed by RoleBinding "b/ns" of Role "r" to ServiceAccount "sa/ns"'
    assert of.allowed(service_account("ns", "sa"), requested) == (True, message)
    of.put(binding("c", "ClusterRole/x", group_subject("red")))
    of.put(role("x", rule("*", "*", "*")))
    assert of.allowed(ANN, requested) == (True, 'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "x" to Group "red"')


def test_a_launcher_execs_into_its_own_workers_and_no_other_pod() -> None:
    rules = (rule("get list watch", "pods"), rule("create", "pods/exec", names="job-worker-0 job-worker-1"))
    of = policy(role("job", *rules, namespace="ns"), binding("job", "Role/job", service_account_subject("job"), namespace="ns"))
    launcher = service_account("ns", "job")
    assert is_allowed(of, launcher, "create", "pods/exec", name="job-worker-1")
    assert not is_allowed(of, launcher, "create", "pods/exec", name="other-worker-0")
    assert not is_allowed(of, launcher, "create", "pods/attach", name="job-worker-1")
    assert not is_allowed(of, launcher, "create", "pods")
    assert not is_allowed(of, service_account("ns", "another"), "create", "pods/exec", name="job-worker-1")
    assert not is_allowed(of, service_account("other", "job"), "create", "pods/exec", name="job-worker-1")


@pytest.mark.parametrize(
    ("written", "allowed", "denied"),
    [
        ("pods", "pods", "pods/log"),
        ("pods/log", "pods/log", "pods"),
        ("*/status", "jobs/status", "jobs"),
        ("*", "pods/exec", None),
        ("pods/*", None, "pods/log"),
    ],
)
def test_resources_and_subresources_are_distinct(written: str, allowed: str | None, denied: str | None) -> None:
    of = policy(role("r", rule("get", written)), binding("b", "ClusterRole/r", user_subject("ann")))
    assert allowed is None or is_allowed(of, ANN, "get", allowed)
    assert denied is None or not is_allowed(of, ANN, "get", denied)


def test_resource_names_do_not_let_lists_pass() -> None:
    of = policy(role("r", rule("get list", "pods", names="a")), binding("b", "ClusterRole/r", user_subject("ann")))
    assert is_allowed(of, ANN, "get", "pods", name="a")
    assert not is_allowed(of, ANN, "get", "pods", name="b")
    assert not is_allowed(of, ANN, "list", "pods")


@pytest.mark.parametrize(
    ("written", "path", "allowed"),
    [("/a", "/a", True), ("/a", "/a/b", False), ("/a/*", "/a/b/c", True), ("/a/*", "/a", False), ("*", "/x", True)],
)
def test_paths_match_by_prefix_where_a_star_ends_them(written: str, path: str, allowed: bool) -> None:
    of = policy(role("r", rule("get", urls=written)), binding("b", "ClusterRole/r", user_subject("ann")))
    assert of.allowed(ANN, non_resource("get", path))[0] is allowed
    assert not of.allowed(ANN, non_resource("post", path))[0]


def test_every_change_applies_immediately() -> None:
    of = policy()
    requested = Attributes("get", resource="pods", namespace="ns")
    assert not of.allowed(ANN, requested)[0]
    of.put(binding("b", "Role/r", user_subject("ann"), namespace="ns"))
    assert of.allowed(ANN, requested) == (False, 'RBAC: role.rbac.authorization.k8s.io "r" not found')
    of.put(role("r", rule("get", "pods"), namespace="ns"))
    assert of.allowed(ANN, requested)[0]
    of.put(role("r", rule("list", "pods"), namespace="ns"))
    assert not of.allowed(ANN, requested)[0]
    of.put(role("r", rule("get", "pods"), namespace="ns"))
    of.put(binding("b", "Role/r", user_subject("bob"), namespace="ns"))
    assert not of.allowed(ANN, requested)[0]
    assert of.allowed(User("bob"), requested)[0]
    of.remove("RoleBinding", "ns", "b")
    assert not of.allowed(User("bob"), requested)[0]


def test_removing_a_missing_object_has_no_effect() -> None:
    of = policy(
        binding("b", "ClusterRole/r", user_subject("ann"), user_subject("ann")), role("r", rule("get", "pods"), namespace="ns")
    )
    for _ in range(2):
        for kind, namespace in (("ClusterRoleBinding", ""), ("RoleBinding", "ns"), ("Role", "ns"), ("ClusterRole", "")):
            of.remove(kind, namespace, "b")
            of.remove(kind, namespace, "r")
    assert of.allowed(ANN, Attributes("get", resource="pods", namespace="ns")) == (False, "")


def test_a_user_and_a_group_of_the_same_name_are_distinct() -> None:
    of = policy(role("r", rule("get", "pods")), binding("b", "ClusterRole/r", group_subject("ann")))
    assert not is_allowed(of, ANN, "get", "pods")
    assert is_allowed(of, User("someone", ("ann",)), "get", "pods")


def test_all_missing_roles_are_reported() -> None:
    of = policy(binding("b", "ClusterRole/x", user_subject("ann")), binding("c", "Role/y", user_subject("ann"), namespace="ns"))
    message = 'RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found, role.rbac.authorization.k8s.io "y" not found]'
    assert of.allowed(ANN, Attributes("get", resource="pods", namespace="ns")) == (False, message)


def test_the_forbidden_message_is_that_of_the_api_server() -> None:
    requested = Attributes("list", resource="pods", namespace="ns")
    error = forbidden(service_account("ns", "sa"), requested)
    message = 'User "system:serviceaccount:ns:sa" cannot list resource "pods" in API group "" in the namespace "ns"'
    assert error.message == f"pods is forbidden: {message}"
    assert error.status()["code"] == 403
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
def test_request_attributes_come_from_the_request_line(method: str, path: str, expected: Attributes) -> None:
    assert of_request(method, path) == expected


def test_a_field_selector_on_the_name_names_the_object() -> None:
    attributes = of_request("GET", "/api/v1/pods", True, "status.phase=Running,metadata.name==a")
    assert attributes == Attributes("watch", "", "pods", name="a")
    assert of_request("GET", "/api/v1/pods", False, "metadata.name!=a").name == ""


def test_the_default_roles_are_those_of_kubernetes() -> None:
    of = policy(*bootstrap_policy.objects())
    of.put(binding("v", "ClusterRole/view", user_subject("viewer"), namespace="ns"))
    of.put(binding("e", "ClusterRole/edit", user_subject("editor"), namespace="ns"))
    of.put(binding("a", "ClusterRole/admin", user_subject("boss"), namespace="ns"))
    viewer, editor, boss = User("viewer"), User("editor"), User("boss")
    assert is_allowed(of, viewer, "list", "pods")
    assert is_allowed(of, viewer, "get", "pods/log")
    assert not is_allowed(of, viewer, "get", "secrets")
    assert not is_allowed(of, viewer, "create", "pods")
    assert is_allowed(of, editor, "create", "pods/exec")
    assert is_allowed(of, editor, "list", "pods")
    assert not is_allowed(of, editor, "create", "roles", group="rbac.authorization.k8s.io")
    assert is_allowed(of, boss, "create", "roles", group="rbac.authorization.k8s.io")
    assert is_allowed(of, boss, "get", "secrets")
    assert not is_allowed(of, boss, "list", "pods", namespace="other")
    assert of.allowed(User("x", ("system:authenticated",)), non_resource("get", "/openapi/v3"))[0]
    assert of.allowed(anonymous(), non_resource("get", "/healthz"))[0]
    assert not of.allowed(anonymous(), non_resource("get", "/api"))[0]


def test_memory_for_responses_is_bounded() -> None:
    of = policy(role("r", rule("get", urls="/a*")), binding("b", "ClusterRole/r", group_subject("system:authenticated")))
    for index in range(5_000):
        user = User(f"user-{index}", ("system:authenticated",))
        assert of.allowed(user, non_resource("get", f"/a{index}"))[0]
        assert of.allowed(ANN, non_resource("get", f"/a{index}"))[0]
        assert not of.allowed(ANN, Attributes(f"v{index}", resource="pods"))[0]
    assert sum(len(known) for known in of._rights.values()) <= 1_000
    assert of._rights[""]
    assert all(len(rights._paths) <= 1_000 and len(rights._candidates) <= 1_000 for rights in of._rights[""].values())
