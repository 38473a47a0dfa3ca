"""Aggregated ClusterRoles: they collect the rules of others by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authz.policy_rules import PolicyRule


def is_aggregated(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def aggregate(roles: Mapping[str, Object], own: Mapping[str, tuple[PolicyRule, ...]]) -> dict[str, tuple[PolicyRule, ...]]:
    """The rules of every ClusterRole after aggregation.

    The rules written in an aggregated role are replaced, as the aggregation controller of Kubernetes does.
    """
    aggregating = [name for name in sorted(roles) if is_aggregated(roles[name])]
    current = {name: () if is_aggregated(roles[name]) else own[name] for name in roles}
    groups = _groups(roles) if aggregating else []
    members = {name: _members(roles[name], groups) for name in aggregating}
    for _ in range(len(aggregating) + 1):
        before = {name: current[name] for name in aggregating}
        for name in aggregating:
            current[name] = _aggregated(members[name], current)
        if all(current[name] == before[name] for name in aggregating):
            break
    return current


class _Group(NamedTuple):
    """Roles with the same labels."""

    labels: Mapping[str, str]
    names: list[str]


def _groups(roles: Mapping[str, Object]) -> list[_Group]:
    groups: dict[tuple[tuple[str, str], ...], _Group] = {}
    for name, role in roles.items():
        labels = role["metadata"].get("labels") or {}
        groups.setdefault(tuple(sorted(labels.items())), _Group(labels, [])).names.append(name)
    return list(groups.values())


def _members(role: Object, groups: list[_Group]) -> list[str]:
    """The roles whose rules it collects, in the order of its selectors, each once.

    A role may have thousands of selectors: different ones are compared with different labels only.
    """
    members: list[str] = []
    selectors = {msgspec.json.encode(selector): selector for selector in role["aggregationRule"]["clusterRoleSelectors"]}
    for selector in selectors.values():
        matching = [group for group in groups if label_selectors.matches(selector, group.labels)]
        members += sorted(name for group in matching for name in group.names if name != role["metadata"]["name"])
        groups = [group for group in groups if group not in matching] if matching else groups
    return members


def _aggregated(members: list[str], current: Mapping[str, tuple[PolicyRule, ...]]) -> tuple[PolicyRule, ...]:
    return tuple(dict.fromkeys(rule for name in members for rule in current[name]))
