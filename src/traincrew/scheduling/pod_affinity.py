"""Pod affinity, pod anti-affinity and topology spread constraints."""

from __future__ import annotations

from collections.abc import Container, Iterator

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


def satisfies_affinity(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> bool:
    keys = {term.get("topologyKey", "") for term in pod.affinity_terms("podAffinity", "required")}
    labels = node_info.node.metadata.labels
    if not keys <= labels.keys():
        return False
    matching = [where for other, where in snapshot.pods() if snapshot.matcher.of(pod, other).affinity]
    if not matching:
        # The first pod of a group with affinity to itself may go anywhere.
        return snapshot.matcher.of(pod, pod).affinity
    return all(any(each.node.metadata.labels.get(key) == labels[key] for each in matching) for key in keys)


def _shared_domains(keys: Container[str], node_info: NodeInfo, where: NodeInfo) -> Iterator[str]:
    """The topology keys of which both nodes have the same value."""
    others = where.node.metadata.labels
    for key, value in node_info.node.metadata.labels.items():
        if key in keys and others.get(key) == value:
            yield key


def violates_anti_affinity(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> bool:
    if not pod.affinity_terms("podAntiAffinity", "required"):
        return False
    return any(
        True
        for other, where in snapshot.pods()
        if (keys := snapshot.matcher.of(pod, other).anti_affinity)
        for _ in _shared_domains(keys, node_info, where)
    )


def violates_existing_anti_affinity(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> bool:
    return any(
        True
        for other, where in snapshot.anti_affinity_pods.values()
        if (keys := snapshot.matcher.of(other, pod).anti_affinity)
        for _ in _shared_domains(keys, node_info, where)
    )


def topology_spread_violation(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> str:
    """The reason why the node violates a constraint; empty: it violates none."""
    for position, constraint in enumerate(pod.spec.topology_spread_constraints):
        if constraint.get("whenUnsatisfiable") != "DoNotSchedule":
            continue
        key = constraint.get("topologyKey", "")
        domain = node_info.node.metadata.labels.get(key)
        if domain is None:
            return TOPOLOGY_KEY_MISSING
        counts = _matching_pods_by_domain(pod, position, snapshot)
        minimum = min(counts.values(), default=0) if len(counts) >= (constraint.get("minDomains") or 1) else 0
        own = int(position in snapshot.matcher.of(pod, pod).spread)
        if counts.get(domain, 0) + own - minimum > int(constraint.get("maxSkew") or 1):
            return TOPOLOGY_SPREAD_MISMATCH
    return ""


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


def _matching_pods_by_domain(pod: PodInfo, position: int, snapshot: Snapshot) -> dict[str, int]:
    """The number of pods that a constraint selects in each topology domain that is eligible for the pod."""
    constraint = pod.spec.topology_spread_constraints[position]
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
            and position in snapshot.matcher.of(pod, other).spread
        )
        counts[domain] = counts.get(domain, 0) + matching
    return counts


def preferred_score(pod: PodInfo, node_info: NodeInfo, snapshot: Snapshot) -> int:
    """The sum of the weights of preferred terms that the node satisfies."""
    return sum(
        weights[key]
        for other, where in snapshot.pods()
        if (weights := snapshot.matcher.of(pod, other).preferred)
        for key in _shared_domains(weights, node_info, where)
    )
