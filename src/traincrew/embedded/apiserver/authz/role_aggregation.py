"""ClusterRoles that gather the rules of others by label."""

from __future__ import annotations

from collections.abc import Mapping

from traincrew.apimachinery import label_selectors
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.authz.policy_rules import Rule


def gathers(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def settled(roles: Mapping[str, Object], own: Mapping[str, tuple[Rule, ...]]) -> dict[str, tuple[Rule, ...]]:
    """What every ClusterRole grants, given the rules written in each, once all that gather have gathered.

    A gathering role has no rules of its own: whatever is written in it is replaced, as Kubernetes' controller does.
    """
    gathering = [name for name in sorted(roles) if gathers(roles[name])]
    current = {name: () if gathers(roles[name]) else own[name] for name in roles}
    for _ in range(len(gathering) + 1):
        before = {name: current[name] for name in gathering}
        for name in gathering:
            current[name] = _gathered(roles[name], roles, current)
        if all(current[name] == before[name] for name in gathering):
            break
    return current


def _gathered(role: Object, roles: Mapping[str, Object], current: Mapping[str, tuple[Rule, ...]]) -> tuple[Rule, ...]:
    found: dict[Rule, None] = {}
    for selector in role["aggregationRule"]["clusterRoleSelectors"]:
        for name in sorted(roles):
            labels = roles[name]["metadata"].get("labels") or {}
            if name != role["metadata"]["name"] and label_selectors.matches(selector, labels):
                found.update(dict.fromkeys(current[name]))
    return tuple(found)
