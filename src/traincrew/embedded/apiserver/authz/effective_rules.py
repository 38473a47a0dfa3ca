"""The effective rules of one user in one namespace, indexed for fast decisions."""

from __future__ import annotations

from collections.abc import Sequence

from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.policy_rules import PolicyRule

MAX_CACHED_DECISIONS = 1_000

_Decision = tuple[bool, str]


class EffectiveRules:
    def __init__(self, rules: Sequence[tuple[PolicyRule, str]], errors: str) -> None:
        self.rules = rules
        """Each with the reason of its decision, in the order of evaluation."""
        self.errors = errors
        self._denied: _Decision = (False, f"RBAC: {errors}" if errors else "")
        self._candidates: dict[tuple[str, str, str, str], list[tuple[tuple[str, ...], _Decision]]] = {}
        self._paths: dict[tuple[str, str], _Decision] = {}

    def grants(self, requested: Attributes) -> _Decision:
        key = (requested.verb, requested.group, requested.resource, requested.subresource)
        candidates = self._candidates.get(key)
        if candidates is None:
            candidates = self._candidates_for(key)
        for names, decision in candidates:
            if not names or requested.name in names:
                return decision
        return self._denied

    def _candidates_for(self, key: tuple[str, str, str, str]) -> list[tuple[tuple[str, ...], _Decision]]:
        if len(self._candidates) >= MAX_CACHED_DECISIONS:
            self._candidates.clear()
        matching = [(rule.names, (True, reason)) for rule, reason in self.rules if rule.applies(*key)]
        self._candidates[key] = matching
        return matching

    def reaches(self, verb: str, path: str) -> _Decision:
        decision = self._paths.get((verb, path))
        if decision is None:
            if len(self._paths) >= MAX_CACHED_DECISIONS:
                self._paths.clear()
            decision = self._evaluate_path(verb, path)
            self._paths[verb, path] = decision
        return decision

    def _evaluate_path(self, verb: str, path: str) -> _Decision:
        for rule, reason in self.rules:
            if rule.applies_to_path(verb, path):
                return True, reason
        return self._denied
