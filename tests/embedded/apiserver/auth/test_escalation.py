from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.apiserver.auth.rbac_objects import RBAC, binding, role, rule, user_subject

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn.users import User, administrator
from traincrew.embedded.apiserver.authz import escalation
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy

ANN = User("ann", ("red",))
WRITE = Attributes("create", RBAC, "roles", namespace="ns")
PODS = rule("get list", "pods")


@pytest.fixture
def policy() -> RBACPolicy:
    """Ann may get and list pods in ns."""
    rbac = RBACPolicy()
    rbac.put(role("own", PODS, namespace="ns"))
    rbac.put(role("pods", PODS))
    rbac.put(role("secrets", rule("get", "secrets")))
    rbac.put(binding("own", "Role/own", user_subject("ann"), namespace="ns"))
    return rbac


def extend(policy: RBACPolicy, *rules: dict[str, Any]) -> None:
    policy.put(role("more", *rules, namespace="ns"))
    policy.put(binding("more", "Role/more", user_subject("ann"), namespace="ns"))


def test_a_user_may_grant_permissions_that_they_hold(policy: RBACPolicy) -> None:
    escalation.check(policy, ANN, WRITE, role("new", rule("get", "pods", names="a"), namespace="ns"))
    escalation.check(policy, ANN, WRITE, binding("new", "ClusterRole/pods", user_subject("bob"), namespace="ns"))


def test_permissions_that_the_user_lacks_are_rejected_and_listed(policy: RBACPolicy) -> None:
    with pytest.raises(api_errors.StatusError) as error:
        escalation.check(policy, ANN, WRITE, role("new", rule("get delete", "pods secrets"), namespace="ns"))
    assert error.value.code == 403
    assert error.value.message == (
        'roles.rbac.authorization.k8s.io "new" is forbidden: user "ann" (groups=["red"]) is attempting to grant RBAC '
        "permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}'
    )


def test_a_binding_grants_the_rules_of_its_role(policy: RBACPolicy) -> None:
    with pytest.raises(api_errors.StatusError, match="not currently held"):
        escalation.check(policy, ANN, WRITE, binding("new", "ClusterRole/secrets", user_subject("bob"), namespace="ns"))


def test_permissions_in_a_namespace_do_not_apply_to_the_cluster(policy: RBACPolicy) -> None:
    with pytest.raises(api_errors.StatusError, match="not currently held"):
        escalation.check(policy, ANN, Attributes("create", RBAC, "clusterroles"), role("new", PODS))


def test_masters_grant_everything(policy: RBACPolicy) -> None:
    escalation.check(policy, administrator(), WRITE, role("new", rule("*", "*", "*"), namespace="ns"))


def test_the_verb_escalate_allows_to_write_any_role(policy: RBACPolicy) -> None:
    extend(policy, rule("escalate", "roles", RBAC))
    escalation.check(policy, ANN, WRITE, role("new", rule("*", "*", "*"), namespace="ns"))
    with pytest.raises(api_errors.StatusError):
        escalation.check(policy, ANN, WRITE, binding("new", "ClusterRole/secrets", user_subject("bob"), namespace="ns"))


def test_the_verb_bind_allows_to_bind_the_named_role(policy: RBACPolicy) -> None:
    extend(policy, rule("bind", "clusterroles", RBAC, names="secrets"))
    policy.put(role("nodes", rule("get", "nodes")))
    escalation.check(policy, ANN, WRITE, binding("new", "ClusterRole/secrets", user_subject("bob"), namespace="ns"))
    with pytest.raises(api_errors.StatusError):
        escalation.check(policy, ANN, WRITE, binding("new", "ClusterRole/nodes", user_subject("bob"), namespace="ns"))


def test_a_missing_role_cannot_be_bound(policy: RBACPolicy) -> None:
    with pytest.raises(api_errors.StatusError) as error:
        escalation.check(policy, ANN, WRITE, binding("new", "ClusterRole/none", user_subject("bob"), namespace="ns"))
    assert error.value.code == 404


def test_only_administrators_may_create_aggregated_roles(policy: RBACPolicy) -> None:
    gathering = role("new") | {"aggregationRule": {"clusterRoleSelectors": [{}]}}
    requested = Attributes("create", RBAC, "clusterroles")
    with pytest.raises(api_errors.StatusError, match="must have cluster-admin privileges to use the aggregationRule"):
        escalation.check(policy, ANN, requested, gathering)
    with pytest.raises(api_errors.StatusError, match="cluster-admin"):
        escalation.check(policy, ANN, requested, role("new"), gathering)


def test_a_garbage_collector_may_write_roles_beyond_its_permissions(policy: RBACPolicy) -> None:
    old = role("new", rule("get", "secrets"), namespace="ns")
    owned = old | {"metadata": old["metadata"] | {"ownerReferences": [{"uid": "1"}], "finalizers": ["x"]}}
    escalation.check(policy, ANN, WRITE, owned, old)
    changed = role("new", rule("get", "secrets configmaps"), namespace="ns")
    with pytest.raises(api_errors.StatusError):
        escalation.check(policy, ANN, WRITE, changed, old)
