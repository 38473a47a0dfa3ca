"""Which pods the affinity terms and spread constraints of a pod select. Terms are evaluated once for pods of equal labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.scheduling.pod_info import LabelKey, PodInfo

Namespaces = Mapping[str, Mapping[str, str]]
"""The labels of each namespace."""
MAX_KEPT = 200_000
"""Results that are kept: less than 100 MB."""


class PodMatches(NamedTuple):
    """How the terms of one pod select another one."""

    affinity: bool
    """All required terms select it."""
    anti_affinity: frozenset[str]
    """The topology keys of required terms that select it."""
    preferred: Mapping[str, int]
    """The sum of the weights, negative for anti-affinity, of preferred terms that select it, by topology key."""
    spread: frozenset[int]
    """The positions of the spread constraints that select it."""


class PodMatcher:
    """Keeps the results for the next scheduling cycle. Topology keys that no node has are left out."""

    def __init__(self) -> None:
        self.work = 0
        """The bytes of all terms that were evaluated."""
        self._namespaces: Namespaces = {}
        self._topology_keys: Set[str] = frozenset()
        self._terms: dict[bytes, _Terms] = {}
        self._results: dict[tuple[bytes, LabelKey], PodMatches] = {}
        self._previous: dict[tuple[bytes, LabelKey], PodMatches] = {}

    @property
    def is_full(self) -> bool:
        """Results are no longer kept."""
        return len(self._results) >= MAX_KEPT

    def start_cycle(self, namespaces: Namespaces, topology_keys: Set[str]) -> None:
        """Forgets what the last cycle did not need. topology_keys: of the labels of nodes."""
        is_same = (namespaces, topology_keys) == (self._namespaces, self._topology_keys)
        self._previous = self._results if is_same else {}
        self._namespaces, self._topology_keys = namespaces, topology_keys
        self._terms, self._results = {}, {}

    def of(self, owner: PodInfo, other: PodInfo) -> PodMatches:
        if not owner.selection_key:
            return NOTHING
        key = (owner.selection_key, other.label_key)
        if (found := self._results.get(key)) is not None:
            return found
        if (found := self._previous.get(key)) is None:
            found = self._evaluate(owner, other)
        if not self.is_full:
            self._results[key] = found
        return found

    def _evaluate(self, owner: PodInfo, other: PodInfo) -> PodMatches:
        if (terms := self._terms.get(owner.selection_key)) is None:
            terms = self._terms[owner.selection_key] = _Terms(owner, self._topology_keys)
        self.work += terms.size
        return terms.matches(owner, other, self._namespaces)


NOTHING = PodMatches(True, frozenset(), {}, frozenset())


@dataclasses.dataclass(slots=True)
class _Selection:
    """Terms of a pod that select the same pods. There may be thousands."""

    term: Object
    required: bool = False
    excluded: frozenset[str] = frozenset()
    """Topology keys of required anti-affinity."""
    weights: dict[str, int] | None = None
    """Of preferred terms, by topology key."""

    def add_weight(self, key: str, weight: int) -> None:
        self.weights = self.weights or {}
        self.weights[key] = self.weights.get(key, 0) + weight


class _Terms:
    """The terms of one pod, identical ones together."""

    def __init__(self, pod: PodInfo, topology_keys: Set[str]) -> None:
        distinct: dict[bytes, _Selection] = {}
        for term in pod.affinity_terms("podAffinity", "required"):
            _selection(distinct, term).required = True
        for term in pod.affinity_terms("podAntiAffinity", "required"):
            if (key := term.get("topologyKey", "")) in topology_keys:
                _selection(distinct, term).excluded |= {key}
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            for preferred in pod.affinity_terms(kind, "preferred"):
                term = preferred.get("podAffinityTerm") or {}
                if (key := term.get("topologyKey", "")) in topology_keys:
                    _selection(distinct, term).add_weight(key, sign * int(preferred.get("weight") or 0))
        constraints = enumerate(pod.spec.topology_spread_constraints)
        self._spread = {index: each for index, each in constraints if each.get("topologyKey") in topology_keys}
        self._selections = list(distinct.values())
        self.size = sum(map(len, distinct)) + sum(len(msgspec.json.encode(each)) for each in self._spread.values())

    def matches(self, owner: PodInfo, other: PodInfo, namespaces: Namespaces) -> PodMatches:
        affinity, anti, preferred = True, set[str](), dict[str, int]()
        for each in self._selections:
            if not term_matches(each.term, owner, other, namespaces):
                affinity = affinity and not each.required
                continue
            anti |= each.excluded
            for key, weight in (each.weights or {}).items():
                preferred[key] = preferred.get(key, 0) + weight
        spread = frozenset(index for index, each in self._spread.items() if spread_selects(each, owner, other))
        return PodMatches(affinity, frozenset(anti), preferred, spread)


def _selection(distinct: dict[bytes, _Selection], term: Object) -> _Selection:
    encoded = msgspec.json.encode({key: value for key, value in term.items() if key != "topologyKey"})
    return distinct.setdefault(encoded, _Selection(term))


def term_matches(term: Object, owner: PodInfo, other: PodInfo, namespaces: Namespaces) -> bool:
    """Whether an affinity term of `owner` selects the other pod."""
    return _in_scope(term, owner, other.metadata.namespace, namespaces) and label_selectors.matches(
        term.get("labelSelector"), other.metadata.labels
    )


def _in_scope(term: Object, owner: PodInfo, namespace: str, namespaces: Namespaces) -> bool:
    named, selector = term.get("namespaces") or (), term.get("namespaceSelector")
    if not named and selector is None:
        return namespace == owner.metadata.namespace
    return namespace in named or (selector is not None and label_selectors.matches(selector, namespaces.get(namespace) or {}))


def spread_selects(constraint: Object, pod: PodInfo, other: PodInfo) -> bool:
    """matchLabelKeys: the labels that both pods must have in common, as far as the pod has them."""
    labels, others = pod.metadata.labels, other.metadata.labels
    same = all(others.get(key) == labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels)
    return same and label_selectors.matches(constraint.get("labelSelector"), others)
