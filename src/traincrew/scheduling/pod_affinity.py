"""Where a pod may go for the sake of other pods: affinity, anti-affinity, even spread."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery import label_selectors
from traincrew.scheduling import node_affinity
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.objects import Object
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

NO_COMPANY = "node(s) didn't match pod affinity rules"
BAD_COMPANY = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"
UNEVEN = "node(s) didn't match pod topology spread constraints"
NO_DOMAIN = f"{UNEVEN} (missing required label)"


def concerned(pod: PodInfo, world: Snapshot) -> bool:
    """Whether others matter to it at all: for most pods they do not."""
    return bool(pod.spec.affinity or world.repelling or pod.spec.topology_spread_constraints)


def means(term: Object, owner: PodInfo, other: PodInfo, world: Snapshot) -> bool:
    """Whether a term of one pod's affinity speaks of the other pod."""
    return _in_scope(term, owner, other.metadata.namespace, world) and label_selectors.matches(
        term.get("labelSelector"), other.metadata.labels
    )


def _in_scope(term: Object, owner: PodInfo, namespace: str, world: Snapshot) -> bool:
    named, selector = term.get("namespaces") or (), term.get("namespaceSelector")
    if not named and selector is None:
        return namespace == owner.metadata.namespace
    return namespace in named or (
        selector is not None and label_selectors.matches(selector, world.laws.namespaces.get(namespace) or {})
    )


def company(pod: PodInfo, room: NodeInfo, world: Snapshot) -> bool:
    terms = pod.terms("podAffinity", "required")
    labels = room.node.metadata.labels
    if any(term.get("topologyKey", "") not in labels for term in terms):
        return False
    friends = [where for other, where in world.here() if all(means(term, pod, other, world) for term in terms)]
    if not friends:
        # The first of a crowd that wants to be together is let in.
        return all(means(term, pod, pod, world) for term in terms)
    return all(_near(friends, room, term) for term in terms)


def _near(friends: Iterable[NodeInfo], room: NodeInfo, term: Object) -> bool:
    key = term.get("topologyKey", "")
    domain = room.node.metadata.labels.get(key)
    return domain is not None and any(each.node.metadata.labels.get(key) == domain for each in friends)


def repelled(pod: PodInfo, room: NodeInfo, world: Snapshot) -> bool:
    terms = pod.terms("podAntiAffinity", "required")
    return any(_near([where], room, term) for term in terms for other, where in world.here() if means(term, pod, other, world))


def unwelcome(pod: PodInfo, room: NodeInfo, world: Snapshot) -> bool:
    return any(
        _near([where], room, term) and means(term, other, pod, world)
        for other, where in world.repelling.values()
        for term in other.terms("podAntiAffinity", "required")
    )


def uneven(pod: PodInfo, room: NodeInfo, world: Snapshot) -> str:
    """Why the pods would lie unevenly; empty: they would not."""
    for rule in pod.spec.topology_spread_constraints:
        if rule.get("whenUnsatisfiable") != "DoNotSchedule":
            continue
        key = rule.get("topologyKey", "")
        domain = room.node.metadata.labels.get(key)
        if domain is None:
            return NO_DOMAIN
        counts = _counts(pod, rule, world)
        least = min(counts.values(), default=0) if len(counts) >= (rule.get("minDomains") or 1) else 0
        own = int(label_selectors.matches(rule.get("labelSelector"), pod.metadata.labels))
        if counts.get(domain, 0) + own - least > int(rule.get("maxSkew") or 1):
            return UNEVEN
    return ""


def _counts(pod: PodInfo, rule: Object, world: Snapshot) -> dict[str, int]:
    """How many alike there are in each domain that the pod could choose."""
    key = rule.get("topologyKey", "")
    found: dict[str, int] = {}
    for room in world.rooms.values():
        domain = room.node.metadata.labels.get(key)
        if domain is None or (rule.get("nodeAffinityPolicy") != "Ignore" and not node_affinity.chosen(pod.spec, room.node)):
            continue
        alike = sum(
            1
            for other in room.pods.values()
            if other.metadata.namespace == pod.metadata.namespace
            and not other.terminating
            and label_selectors.matches(rule.get("labelSelector"), other.metadata.labels)
        )
        found[domain] = found.get(domain, 0) + alike
    return found


def sympathy(pod: PodInfo, room: NodeInfo, world: Snapshot) -> int:
    """How much it would like to be there for the company, by the weights of its preferences."""
    total = 0
    for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        for wish in pod.terms(kind, "preferred"):
            term = wish.get("podAffinityTerm") or {}
            near = sum(1 for other, where in world.here() if _near([where], room, term) and means(term, pod, other, world))
            total += sign * int(wish.get("weight") or 0) * near
    return total
