"""Pod affinity, pod anti-affinity and topology spread constraints."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery import label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.scheduling import node_affinity
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

AFFINITY_MISMATCH = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_MISMATCH = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_MISMATCH = "node(s) didn't satisfy existing pods anti-affinity rules"
TOPOLOGY_SPREAD_MISMATCH = "node(s) didn't match pod topology spread constraints"
TOPOLOGY_KEY_MISSING = f"{TOPOLOGY_SPREAD_MISMATCH} (missing required label)"


def is_relevant(pod: PodInfo, snapshot: Snapshot) -> bool:
    """Whether other pods restrict the choice of nodes. For most pods they do not."""
    return bool(pod.spec.affinity or snapshot.anti_affinity_pods or pod.spec.topology_spread_constraints)


def term_matches(term: Object, owner: PodInfo, other: PodInfo, snapshot: Snapshot) -> bool:
    """Whether an affinity term of `owner` selects the other pod."""
    return _in_scope(term, owner, other.metadata.namespace, snapshot) and label_selectors.matches(
        term.get("labelSelector"), other.metadata.labels
    )


def _in_scope(term: Object, owner: PodInfo, namespace: str, snapshot: Snapshot) -> bool:
    named, selector = term.get("namespaces") or (), term.get("namespaceSelector")
    if not named and selector is None:
        return namespace == owner.metadata.namespace
    return namespace in named or (
        selector is not None and label_selectors.matches(selector, snapshot.namespaces.get(namespace) or {})
    )


def satisfies_affinity(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> bool:
    terms = pod.affinity_terms("podAffinity", "required")
    labels = node_info.node.metadata.labels
    if any(term.get("topologyKey", "") not in labels for term in terms):
        return False
    matching = [where for other, where in snapshot.pods() if all(term_matches(term, pod, other, snapshot) for term in terms)]
    if not matching:
        # The first pod of a group with affinity to itself may go anywhere.
        return all(term_matches(term, pod, pod, snapshot) for term in terms)
    return all(_in_same_domain(matching, node_info, term) for term in terms)


def _in_same_domain(others: Iterable[NodeInfo], node_info: NodeInfo, term: Object) -> bool:
    key = term.get("topologyKey", "")
    domain = node_info.node.metadata.labels.get(key)
    return domain is not None and any(each.node.metadata.labels.get(key) == domain for each in others)


def violates_anti_affinity(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> bool:
    terms = pod.affinity_terms("podAntiAffinity", "required")
    return any(
        _in_same_domain([where], node_info, term)
        for term in terms
        for other, where in snapshot.pods()
        if term_matches(term, pod, other, snapshot)
    )


def violates_existing_anti_affinity(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> bool:
    return any(
        _in_same_domain([where], node_info, term) and term_matches(term, other, pod, snapshot)
        for other, where in snapshot.anti_affinity_pods.values()
        for term in other.affinity_terms("podAntiAffinity", "required")
    )


def topology_spread_violation(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> str:
    """The reason why the node violates a constraint; empty: it violates none."""
    for constraint in pod.spec.topology_spread_constraints:
        if constraint.get("whenUnsatisfiable") != "DoNotSchedule":
            continue
        key = constraint.get("topologyKey", "")
        domain = node_info.node.metadata.labels.get(key)
        if domain is None:
            return TOPOLOGY_KEY_MISSING
        counts = _matching_pods_by_domain(pod, constraint, snapshot)
        minimum = min(counts.values(), default=0) if len(counts) >= (constraint.get("minDomains") or 1) else 0
        own = int(_spread_selects(constraint, pod, pod))
        if counts.get(domain, 0) + own - minimum > int(constraint.get("maxSkew") or 1):
            return TOPOLOGY_SPREAD_MISMATCH
    return ""


def _spread_selects(constraint: Object, pod: PodInfo, other: PodInfo) -> bool:
    """matchLabelKeys: the labels that both pods must have in common, as far as the pod has them."""
    labels, others = pod.metadata.labels, other.metadata.labels
    same = all(others.get(key) == labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels)
    return same and label_selectors.matches(constraint.get("labelSelector"), others)


def _counts_nothing(constraint: Object, pod: PodInfo) -> bool:
    """As in kube-scheduler, no pod is counted for an empty selector, which would select all."""
    selector = constraint.get("labelSelector") or {}
    keys = [key for key in constraint.get("matchLabelKeys") or () if key in pod.metadata.labels]
    return not (selector.get("matchLabels") or selector.get("matchExpressions") or keys)


def _is_eligible(pod: PodInfo, node_info: NodeInfo, constraint: Object) -> bool:
    """Whether the node counts for the domains of the constraint."""
    if constraint.get("nodeAffinityPolicy") != "Ignore" and not node_affinity.matches_pod(pod.spec, node_info.node):
        return False
    return constraint.get("nodeTaintsPolicy") != "Honor" or node_affinity.untolerated_taint(pod.spec, node_info.taints) is None


def _matching_pods_by_domain(pod: PodInfo, constraint: Object, snapshot: Snapshot) -> dict[str, int]:
    """The number of selected pods in each topology domain that is eligible for the pod."""
    key, none = constraint.get("topologyKey", ""), _counts_nothing(constraint, pod)
    counts: dict[str, int] = {}
    for node_info in snapshot.node_infos.values():
        domain = node_info.node.metadata.labels.get(key)
        if domain is None or not _is_eligible(pod, node_info, constraint):
            continue
        matching = sum(
            1
            for other in node_info.pods.values()
            if not none
            and other.metadata.namespace == pod.metadata.namespace
            and not other.terminating
            and _spread_selects(constraint, pod, other)
        )
        counts[domain] = counts.get(domain, 0) + matching
    return counts


def preferred_score(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> int:
    """The sum of the weights of preferred terms that the node satisfies."""
    total = 0
    for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        for preferred in pod.affinity_terms(kind, "preferred"):
            term = preferred.get("podAffinityTerm") or {}
            matching = sum(
                1
                for other, where in snapshot.pods()
                if _in_same_domain([where], node_info, term) and term_matches(term, pod, other, snapshot)
            )
            total += sign * int(preferred.get("weight") or 0) * matching
    return total
