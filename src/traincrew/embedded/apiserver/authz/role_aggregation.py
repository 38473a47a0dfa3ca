"""Aggregated ClusterRoles: they collect the rules of others by label."""

from __future__ import annotations

from collections.abc import Mapping

from traincrew.apimachinery import label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authz.policy_rules import Rule


def is_aggregated(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def aggregate(roles: Mapping[str, Object], own: Mapping[str, tuple[Rule, ...]]) -> dict[str, tuple[Rule, ...]]:
    """The rules of every ClusterRole after aggregation.

    The rules written in an aggregated role are replaced, as the aggregation controller of Kubernetes does.
    """
    gathering = [name for name in sorted(roles) if is_aggregated(roles[name])]
    current = {name: () if is_aggregated(roles[name]) else own[name] for name in roles}
    for _ in range(len(gathering) + 1):
        before = {name: current[name] for name in gathering}
        for name in gathering:
            current[name] = _aggregated(roles[name], roles, current)
        if all(current[name] == before[name] for name in gathering):
            break
    return current


def _aggregated(role: Object, roles: Mapping[str, Object], current: Mapping[str, tuple[Rule, ...]]) -> tuple[Rule, ...]:
    aggregated: dict[Rule, None] = {}
    for selector in role["aggregationRule"]["clusterRoleSelectors"]:
        for name in sorted(roles):
            labels = roles[name]["metadata"].get("labels") or {}
            if name != role["metadata"]["name"] and label_selectors.matches(selector, labels):
                aggregated.update(dict.fromkeys(current[name]))
    return tuple(aggregated)
