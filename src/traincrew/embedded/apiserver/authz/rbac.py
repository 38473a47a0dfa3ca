"""RBAC: decisions by Roles, ClusterRoles and their bindings."""

from __future__ import annotations

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import bindings, policy_rules, role_aggregation
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.bindings import RoleBinding
from traincrew.embedded.apiserver.authz.effective_rules import EffectiveRules
from traincrew.embedded.apiserver.authz.policy_rules import PolicyRule

GROUP = "rbac.authorization.k8s.io"
KINDS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
MAX_CACHED_USERS = 1_000
"""Cached users a namespace: a bound on memory, not on users."""

_Rights = dict[tuple[str, tuple[str, ...]], EffectiveRules]


class RBACPolicy:
    """All RBAC objects, updated on every write and deletion. `system:masters` may do everything."""

    def __init__(self) -> None:
        self._roles: dict[str, dict[str, tuple[PolicyRule, ...]]] = {}
        self._cluster_roles: dict[str, Object] = {}
        self._written: dict[str, tuple[PolicyRule, ...]] = {}
        self._granted: dict[str, tuple[PolicyRule, ...]] | None = None
        self._bindings: dict[str, bindings.BindingIndex] = {"": bindings.BindingIndex()}
        self._rights: dict[str, _Rights] = {}

    def put(self, document: Object) -> None:
        """Adds or replaces a role or binding, cluster-wide or not. The object is kept: callers must not change it."""
        metadata = document["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace") or ""
        match document["kind"]:
            case "Role":
                self._roles.setdefault(namespace, {})[name] = policy_rules.of(document)
            case "ClusterRole":
                self._cluster_roles[name], self._written[name] = document, policy_rules.of(document)
            case "RoleBinding":
                self._bindings.setdefault(namespace, bindings.BindingIndex()).put(bindings.of(document))
            case "ClusterRoleBinding":
                self._bindings[""].put(bindings.of(document))
        self._forget(namespace)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        match kind:
            case "Role":
                _drop(self._roles, namespace, name)
            case "ClusterRole":
                self._cluster_roles.pop(name, None)
                self._written.pop(name, None)
            case "RoleBinding" if namespace in self._bindings:
                self._bindings[namespace].remove(name)
                if not self._bindings[namespace]:
                    del self._bindings[namespace]
            case "ClusterRoleBinding":
                self._bindings[""].remove(name)
        self._forget(namespace)

    def allowed(self, user: User, requested: Attributes) -> tuple[bool, str]:
        """The decision and its reason, as in the status of a SubjectAccessReview."""
        if user.is_master:
            return True, ""
        rights = self._effective_rules(user, requested.namespace)
        if requested.path:
            return rights.reaches(requested.verb, requested.path)
        return rights.grants(requested)

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], str]:
        """Every rule that applies to the user in the namespace, and the errors of resolution."""
        rights = self._effective_rules(user, namespace)
        return [rule for rule, _ in rights.rules], rights.errors

    def rules_of(self, kind: str, name: str, namespace: str) -> tuple[PolicyRule, ...] | None:
        """The rules of the role that a roleRef names; None if it does not exist."""
        if kind == "ClusterRole":
            return self._cluster_grants().get(name)
        return self._roles.get(namespace, {}).get(name)

    def outdated_aggregated_roles(self) -> list[tuple[str, list[Object]]]:
        """ClusterRoles whose stored rules differ from their aggregated rules, with the aggregated rules."""
        granted = self._cluster_grants()
        stale = (name for name, role in self._cluster_roles.items() if role_aggregation.is_aggregated(role))
        return [
            (name, [policy_rules.document(rule) for rule in granted[name]])
            for name in stale
            if granted[name] != self._written[name]
        ]

    def _effective_rules(self, user: User, namespace: str) -> EffectiveRules:
        known = self._rights.get(namespace)
        if known is None:
            known = self._rights[namespace] = {}
        key = (user.name, user.groups)
        rights = known.get(key)
        if rights is None:
            if len(known) >= MAX_CACHED_USERS:
                known.clear()
            rights = known[key] = self._collected(user, namespace)
        return rights

    def _collected(self, user: User, namespace: str) -> EffectiveRules:
        collected: list[tuple[PolicyRule, str]] = []
        errors: dict[str, None] = {}
        for binding in self._applying(user, namespace):
            granted = self.rules_of(binding.role_kind, binding.role_name, binding.namespace)
            if granted is None:
                errors[f'{binding.role_kind.lower()}.{GROUP} "{binding.role_name}" not found'] = None
                continue
            reason = f"RBAC: allowed by {binding.words(user)}"
            collected += [(rule, reason) for rule in granted]
        messages = list(errors)
        return EffectiveRules(collected, messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]" if messages else "")

    def _applying(self, user: User, namespace: str) -> list[RoleBinding]:
        applying = self._bindings[""].of(user)
        if namespace and namespace in self._bindings:
            applying += self._bindings[namespace].of(user)
        return applying

    def _cluster_grants(self) -> dict[str, tuple[PolicyRule, ...]]:
        if self._granted is None:
            self._granted = role_aggregation.aggregate(self._cluster_roles, self._written)
        return self._granted

    def _forget(self, namespace: str) -> None:
        if namespace:
            self._rights.pop(namespace, None)
        else:
            self._rights.clear()
            self._granted = None


def _drop(of: dict[str, dict[str, tuple[PolicyRule, ...]]], namespace: str, name: str) -> None:
    within = of.get(namespace, {})
    within.pop(name, None)
    if not within:
        of.pop(namespace, None)
