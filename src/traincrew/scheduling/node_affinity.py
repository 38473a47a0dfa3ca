"""Node selectors, node affinity, taints and tolerations."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery import label_selectors
from traincrew.apimachinery.unstructured import Object
from traincrew.scheduling.objects import Node, PodSpec, Taint, Toleration

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
NO_SCHEDULE_EFFECTS = ("NoSchedule", "NoExecute")


def required(affinity: Object | None) -> Object | None:
    return ((affinity or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")


def preferred(affinity: Object | None) -> list[Object]:
    return ((affinity or {}).get("nodeAffinity") or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or []


def matches_pod(spec: PodSpec, node: Node) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    selector = required(spec.affinity)
    return selector is None or matches(selector, node)


def matches(selector: Object, node: Node) -> bool:
    """The terms are ORed."""
    return any(term_matches(term, node) for term in selector.get("nodeSelectorTerms") or ())


def term_matches(term: Object, node: Node) -> bool:
    """The requirements of a term are ANDed. A term without requirements matches nothing."""
    expressions, names = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not names:
        return False
    fields = {"metadata.name": node.name}
    return all(label_selectors.meets(requirement, node.metadata.labels) for requirement in expressions) and all(
        label_selectors.meets(requirement, fields) for requirement in names
    )


def required_node_names(affinity: Object | None) -> set[str] | None:
    """The nodes that the terms select by metadata.name; None if some term does not."""
    terms = (required(affinity) or {}).get("nodeSelectorTerms") or ()
    nodes: set[str] = set()
    for term in terms:
        sets = [
            set(requirement.get("values") or ())
            for requirement in term.get("matchFields") or ()
            if requirement.get("key") == "metadata.name" and requirement.get("operator") == "In"
        ]
        if not sets:
            return None
        nodes |= set.intersection(*sets)
    return nodes if terms else None


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def effective_taints(node: Node) -> list[Taint]:
    """With the taint of a node that is not ready, which the node lifecycle controller would add if it ran."""
    taints = list(node.spec.taints)
    ready = next((condition.status for condition in node.status.conditions if condition.type == "Ready"), "True")
    key = {"True": "", "False": NOT_READY}.get(ready, UNREACHABLE)
    if key and all(taint.key != key for taint in taints):
        taints.append(Taint(key=key, effect="NoSchedule"))
    return taints


def untolerated_taint(spec: PodSpec, taints: Iterable[Taint]) -> Taint | None:
    return next(
        (taint for taint in taints if taint.effect in NO_SCHEDULE_EFFECTS and not tolerates(spec.tolerations, taint)), None
    )
