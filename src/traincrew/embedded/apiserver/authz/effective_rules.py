"""The effective rules of one user in one namespace, indexed for fast decisions."""

from __future__ import annotations

from collections.abc import Sequence

from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.policy_rules import Rule

ANSWERS_REMEMBERED = 1_000

_Answer = tuple[bool, str]


class EffectiveRules:
    def __init__(self, rules: Sequence[tuple[Rule, str]], errors: str) -> None:
        self.rules = rules
        """Each with the reason of its decision, in the order of evaluation."""
        self.errors = errors
        self._denied: _Answer = (False, f"RBAC: {errors}" if errors else "")
        self._candidates: dict[tuple[str, str, str, str], list[tuple[tuple[str, ...], _Answer]]] = {}
        self._paths: dict[tuple[str, str], _Answer] = {}

    def grants(self, asked: Attributes) -> _Answer:
        key = (asked.verb, asked.group, asked.resource, asked.subresource)
        candidates = self._candidates.get(key)
        if candidates is None:
            candidates = self._remembered(key)
        for names, answer in candidates:
            if not names or asked.name in names:
                return answer
        return self._denied

    def _remembered(self, key: tuple[str, str, str, str]) -> list[tuple[tuple[str, ...], _Answer]]:
        if len(self._candidates) >= ANSWERS_REMEMBERED:
            self._candidates.clear()
        matching = [(rule.names, (True, reason)) for rule, reason in self.rules if rule.applies(*key)]
        self._candidates[key] = matching
        return matching

    def reaches(self, verb: str, path: str) -> _Answer:
        answer = self._paths.get((verb, path))
        if answer is None:
            if len(self._paths) >= ANSWERS_REMEMBERED:
                self._paths.clear()
            answer = self._reached(verb, path)
            self._paths[verb, path] = answer
        return answer

    def _reached(self, verb: str, path: str) -> _Answer:
        for rule, reason in self.rules:
            if rule.applies_to_path(verb, path):
                return True, reason
        return self._denied
