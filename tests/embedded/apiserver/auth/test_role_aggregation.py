from __future__ import annotations

from typing import Any

from tests.embedded.apiserver.auth.rbac_objects import binding, role, rule, user_subject

from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import bootstrap_policy, policy_rules, role_aggregation
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.rbac import RBACPolicy

ASKED = Attributes("get", "kubeflow.org", "mpijobs", namespace="ns")


def aggregated_role(name: str, label: str, **labels: str) -> dict[str, Any]:
    document = role(name)
    document["metadata"]["labels"] = labels
    return document | {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "yes"}}]}}


def labelled_role(name: str, label: str, *rules: dict[str, Any]) -> dict[str, Any]:
    document = role(name, *rules)
    document["metadata"]["labels"] = {label: "yes"}
    return document


def test_an_aggregated_role_grants_the_rules_of_the_labelled_roles() -> None:
    policy = RBACPolicy()
    policy.put(aggregated_role("all", "to-all"))
    policy.put(binding("b", "ClusterRole/all", user_subject("ann")))
    assert not policy.allowed(User("ann"), ASKED)[0]
    policy.put(labelled_role("part", "to-all", rule("get", "mpijobs", "kubeflow.org")))
    assert policy.allowed(User("ann"), ASKED)[0]
    policy.remove("ClusterRole", "", "part")
    assert not policy.allowed(User("ann"), ASKED)[0]


def test_aggregation_includes_aggregated_roles() -> None:
    policy = RBACPolicy()
    policy.put(aggregated_role("a-outer", "to-outer"))
    policy.put(aggregated_role("z-inner", "to-inner", **{"to-outer": "yes"}))
    policy.put(labelled_role("part", "to-inner", rule("get", "mpijobs", "kubeflow.org")))
    policy.put(binding("b", "ClusterRole/a-outer", user_subject("ann")))
    assert policy.allowed(User("ann"), ASKED)[0]


def test_roles_that_aggregate_each_other_converge() -> None:
    policy = RBACPolicy()
    policy.put(aggregated_role("a", "to-a", **{"to-b": "yes"}))
    policy.put(aggregated_role("b", "to-b", **{"to-a": "yes"}))
    policy.put(labelled_role("part", "to-a", rule("get", "mpijobs", "kubeflow.org")))
    policy.put(binding("x", "ClusterRole/b", user_subject("ann")))
    assert policy.allowed(User("ann"), ASKED)[0]
    assert dict(policy.outdated_aggregated_roles()).keys() == {"a", "b"}


def test_outdated_aggregated_roles_are_listed_until_they_are_updated() -> None:
    policy, part = RBACPolicy(), rule("get", "mpijobs", "kubeflow.org")
    policy.put(aggregated_role("all", "to-all"))
    policy.put(labelled_role("part", "to-all", part, part))
    policy.put(labelled_role("same", "to-all", part))
    assert policy.outdated_aggregated_roles() == [("all", [part])]
    policy.put(aggregated_role("all", "to-all") | {"rules": [part]})
    assert policy.outdated_aggregated_roles() == []


def test_the_default_roles_are_aggregated_already() -> None:
    policy = RBACPolicy()
    for each in bootstrap_policy.objects():
        policy.put(each)
    assert policy.outdated_aggregated_roles() == []


def test_rules_are_in_the_order_of_the_selectors_and_each_is_there_once() -> None:
    first, second, third = (rule("get", resource) for resource in ("pods", "nodes", "secrets"))
    roles = [labelled_role("a", "later", first), labelled_role("z", "early", second), labelled_role("b", "early", third, second)]
    selectors = [{"matchLabels": {label: "yes"}} for label in ("early", "later", "early")]
    roles.append(role("all") | {"aggregationRule": {"clusterRoleSelectors": selectors}})
    by_name = {each["metadata"]["name"]: each for each in roles}
    own = {name: policy_rules.of(each) for name, each in by_name.items()}
    assert role_aggregation.aggregate(by_name, own)["all"] == (*own["b"], *own["a"])


class CountedLabels(dict[str, str]):
    compared = 0

    def get(self, key: str, default: Any = None) -> Any:
        CountedLabels.compared += 1
        return super().get(key, default)


def test_thousands_of_selectors_are_compared_only_as_far_as_selectors_and_labels_differ() -> None:
    roles = {f"r{index}": labelled_role(f"r{index}", "x", rule("get", "pods")) for index in range(50)}
    for each in roles.values():
        each["metadata"]["labels"] = CountedLabels({"x": "yes"})
    selectors: list[dict[str, Any]] = [{}] * 1_000 + [{"matchLabels": {f"k{index}": "yes"}} for index in range(2_000)] * 2
    roles["all"] = role("all") | {"aggregationRule": {"clusterRoleSelectors": selectors[::-1]}}
    granted = role_aggregation.aggregate(roles, {name: policy_rules.of(each) for name, each in roles.items()})
    assert len(granted["all"]) == 1
    assert CountedLabels.compared <= 2_000
