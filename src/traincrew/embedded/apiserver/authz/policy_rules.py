"""PolicyRules: whether a rule allows a request, and whether it covers another rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from traincrew.apimachinery import go_format
from traincrew.apimachinery.unstructured import Object

ALL = "*"


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyRule:
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def applies(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Whether the rule allows the verb on the resource. The caller checks `names`."""
        return (
            (ALL in self.verbs or verb in self.verbs)
            and (ALL in self.groups or group in self.groups)
            and self._names_resource(resource, subresource)
        )

    def _names_resource(self, resource: str, subresource: str) -> bool:
        if ALL in self.resources:
            return True
        if not subresource:
            return resource in self.resources
        return f"{resource}/{subresource}" in self.resources or f"*/{subresource}" in self.resources

    def applies_to_path(self, verb: str, path: str) -> bool:
        return (ALL in self.verbs or verb in self.verbs) and any(url_covers(url, path) for url in self.urls)

    def atoms(self) -> list[PolicyRule]:
        """The rule split into rules of one verb, one resource and at most one name each."""
        names: Sequence[tuple[str, ...]] = [(name,) for name in self.names] or [()]
        atoms = [
            PolicyRule((verb,), (group,), (resource,), name)
            for group in self.groups
            for resource in self.resources
            for verb in self.verbs
            for name in names
        ]
        return atoms + [PolicyRule((verb,), urls=(url,)) for url in self.urls for verb in self.verbs]

    def covers(self, atom: PolicyRule) -> bool:
        return (
            (ALL in self.verbs or set(atom.verbs) <= set(self.verbs))
            and (ALL in self.groups or set(atom.groups) <= set(self.groups))
            and all(self._covers_resource(each) for each in atom.resources)
            and all(any(url_covers(own, url) for own in self.urls) for url in atom.urls)
            and (not self.names or (bool(atom.names) and set(atom.names) <= set(self.names)))
        )

    def _covers_resource(self, resource: str) -> bool:
        if ALL in self.resources or resource in self.resources:
            return True
        _, slash, subresource = resource.partition("/")
        return bool(slash) and f"*/{subresource}" in self.resources

    def words(self) -> str:
        """As the message about an escalation writes it: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`."""
        fields = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{title}:{go_format.quote_list(values)}" for title, values in fields if values) + "}"


def of(document: Object) -> tuple[PolicyRule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(_rule(each) for each in document.get("rules") or ())


def _rule(document: Object) -> PolicyRule:
    return PolicyRule(
        tuple(document.get("verbs") or ()),
        tuple(document.get("apiGroups") or ()),
        tuple(document.get("resources") or ()),
        tuple(document.get("resourceNames") or ()),
        tuple(document.get("nonResourceURLs") or ()),
    )


def document(rule: PolicyRule) -> Object:
    """The rule as a PolicyRule; fields in the order of the API."""
    fields = (
        ("verbs", rule.verbs),
        ("apiGroups", rule.groups),
        ("resources", rule.resources),
        ("resourceNames", rule.names),
        ("nonResourceURLs", rule.urls),
    )
    return {name: list(values) for name, values in fields if values}


def url_covers(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def uncovered(owned: Sequence[PolicyRule], requested: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The requested rules that no owned rule covers, split into atoms."""
    return [atom for rule in requested for atom in rule.atoms() if not any(own.covers(atom) for own in owned)]


def compact(atoms: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Joins atoms that differ only by verb."""
    verbs: dict[PolicyRule, list[str]] = {}
    kept: list[PolicyRule] = []
    for atom in atoms:
        if atom.urls:
            kept.append(atom)
        else:
            verbs.setdefault(dataclasses.replace(atom, verbs=()), []).extend(atom.verbs)
    return kept + [dataclasses.replace(rule, verbs=tuple(joined)) for rule, joined in verbs.items()]
