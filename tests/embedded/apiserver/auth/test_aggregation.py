from __future__ import annotations

from typing import Any

from tests.embedded.apiserver.auth.documents import binding, person, role, rule

from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import bootstrap_policy
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.rbac import Policy

ASKED = Attributes("get", "kubeflow.org", "mpijobs", namespace="ns")


def gathering(name: str, label: str, **labels: str) -> dict[str, Any]:
    document = role(name)
    document["metadata"]["labels"] = labels
    return document | {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "yes"}}]}}


def labelled(name: str, label: str, *rules: dict[str, Any]) -> dict[str, Any]:
    document = role(name, *rules)
    document["metadata"]["labels"] = {label: "yes"}
    return document


def test_a_role_that_gathers_grants_what_the_labelled_ones_grant() -> None:
    policy = Policy()
    policy.put(gathering("all", "to-all"))
    policy.put(binding("b", "ClusterRole/all", person("ann")))
    assert not policy.allowed(User("ann"), ASKED)[0]
    policy.put(labelled("part", "to-all", rule("get", "mpijobs", "kubeflow.org")))
    assert policy.allowed(User("ann"), ASKED)[0]
    policy.remove("ClusterRole", "", "part")
    assert not policy.allowed(User("ann"), ASKED)[0]


def test_gathering_goes_through_roles_that_gather() -> None:
    policy = Policy()
    policy.put(gathering("a-outer", "to-outer"))
    policy.put(gathering("z-inner", "to-inner", **{"to-outer": "yes"}))
    policy.put(labelled("part", "to-inner", rule("get", "mpijobs", "kubeflow.org")))
    policy.put(binding("b", "ClusterRole/a-outer", person("ann")))
    assert policy.allowed(User("ann"), ASKED)[0]


def test_roles_that_gather_each_other_settle() -> None:
    policy = Policy()
    policy.put(gathering("a", "to-a", **{"to-b": "yes"}))
    policy.put(gathering("b", "to-b", **{"to-a": "yes"}))
    policy.put(labelled("part", "to-a", rule("get", "mpijobs", "kubeflow.org")))
    policy.put(binding("x", "ClusterRole/b", person("ann")))
    assert policy.allowed(User("ann"), ASKED)[0]
    assert dict(policy.outdated_aggregated_roles()).keys() == {"a", "b"}


def test_what_should_be_written_into_a_gathering_role_is_told_until_it_is() -> None:
    policy, part = Policy(), rule("get", "mpijobs", "kubeflow.org")
    policy.put(gathering("all", "to-all"))
    policy.put(labelled("part", "to-all", part, part))
    policy.put(labelled("same", "to-all", part))
    assert policy.outdated_aggregated_roles() == [("all", [part])]
    policy.put(gathering("all", "to-all") | {"rules": [part]})
    assert policy.outdated_aggregated_roles() == []


def test_the_default_roles_are_settled() -> None:
    policy = Policy()
    for each in bootstrap_policy.objects():
        policy.put(each)
    assert policy.outdated_aggregated_roles() == []
