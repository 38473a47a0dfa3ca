"""Whether a node is one that a pod asks for: selectors, affinity, taints."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery import label_selectors
from traincrew.scheduling.objects import Node, Object, PodSpec, Taint, Toleration

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
REPELLING = ("NoSchedule", "NoExecute")


def required(affinity: Object | None) -> Object | None:
    return ((affinity or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")


def preferred(affinity: Object | None) -> list[Object]:
    return ((affinity or {}).get("nodeAffinity") or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or []


def chosen(spec: PodSpec, node: Node) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    selector = required(spec.affinity)
    return selector is None or matches(selector, node)


def matches(selector: Object, node: Node) -> bool:
    """One of the terms must match."""
    return any(term_matches(term, node) for term in selector.get("nodeSelectorTerms") or ())


def term_matches(term: Object, node: Node) -> bool:
    """All of a term's requirements must be met; one without any matches nothing."""
    expressions, names = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not names:
        return False
    fields = {"metadata.name": node.name}
    return all(label_selectors.meets(each, node.metadata.labels) for each in expressions) and all(
        label_selectors.meets(each, fields) for each in names
    )


def only_named(affinity: Object | None) -> set[str] | None:
    """The nodes that every term names by their very names; None if some term does not."""
    terms = (required(affinity) or {}).get("nodeSelectorTerms") or ()
    found: set[str] = set()
    for term in terms:
        sets = [
            set(each.get("values") or ())
            for each in term.get("matchFields") or ()
            if each.get("key") == "metadata.name" and each.get("operator") == "In"
        ]
        if not sets:
            return None
        found |= set.intersection(*sets)
    return found if terms else None


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def taints(node: Node) -> list[Taint]:
    """A node that says that it is not ready is as good as tainted: whoever would do so may not run here."""
    found = list(node.spec.taints)
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    key = {"True": "", "False": NOT_READY}.get(ready, UNREACHABLE)
    if key and all(each.key != key for each in found):
        found.append(Taint(key=key, effect="NoSchedule"))
    return found


def untolerated(spec: PodSpec, held: Iterable[Taint]) -> Taint | None:
    return next((each for each in held if each.effect in REPELLING and not tolerates(spec.tolerations, each)), None)
