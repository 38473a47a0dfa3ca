"""Messages about unschedulable pods, as kube-scheduler and Volcano word them, and our advice that may follow them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from traincrew.apimachinery import byte_sizes
from traincrew.scheduling.filters import FilterStatus

NO_NODES = "no nodes available to schedule pods"
PREEMPTION_NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
PREEMPTION_NEVER = "preemption: not eligible due to preemptionPolicy=Never."
PREEMPTION_UNDER_WAY = "preemption: not eligible due to a terminating pod on the nominated node."

OVERCOMMIT_MEMORY = (
    "To let pods request more memory than the machine has, start the cluster with `traincrew up --overcommit memory`."
)


def no_nodes_available(statuses: Iterable[FilterStatus]) -> str:
    """FitError.Error(): the reasons of all nodes, counted."""
    nodes = list(statuses)
    counts = Counter(reason for each in nodes for reason in each.reasons)
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{len(nodes)} nodes are available: {listed}."


def unresolvable(nodes: int, reason: str) -> str:
    """A reason that does not depend on the nodes."""
    return (
        f"0/{nodes} nodes are available: {reason}. {preemption_failed([FilterStatus((PREEMPTION_NOT_HELPFUL,), True)] * nodes)}"
    )


def preemption_failed(statuses: Iterable[FilterStatus]) -> str:
    return f"preemption: {no_nodes_available(statuses)}"


def advice(insufficient: Iterable[str], requests: Mapping[str, int], allocatable: Mapping[str, int]) -> str:
    """An option of `traincrew up` that would help; empty: none would."""
    for name in sorted(set(insufficient)):
        if name == "memory":
            return _memory_exceeded(requests.get(name, 0), allocatable.get(name, 0)) + OVERCOMMIT_MEMORY
        if "/" in name and requests.get(name, 0) > (available := allocatable.get(name, 0)):
            return (
                f"This machine has {available or 'no'} {name}. "
                f"To declare {'more' if available else 'some'}, start the cluster with `traincrew up --device {name}=N`."
            )
    return ""


def _memory_exceeded(requested: int, allocatable: int) -> str:
    """Only if the request exceeds the whole machine: memory that other pods use becomes free."""
    if requested <= allocatable:
        return ""
    return (
        f"This machine has {byte_sizes.text(allocatable)} of memory for pods. "
        f"The pod requests {byte_sizes.text(requested)} and will never fit. "
    )


def too_few_siblings(pod: str, present: int, min_member: int) -> str:
    return (
        f"pre-filter pod {pod} cannot find enough sibling pods, current pods number: {present}, minMember of group: {min_member}"
    )


def gang_unschedulable(unfit: int, pending: int, tasks: int, min_member: int) -> str:
    """Volcano's message about a gang of which only a part fits."""
    parts = [f"{count} {word}" for count, word in ((pending - unfit, "Schedulable"), (unfit, "Unschedulable")) if count]
    return (
        f"{unfit}/{tasks} tasks in gang unschedulable: pod group is not ready, {pending} Pending, {min_member} minAvailable; "
        f"Pending: {', '.join(parts)}"
    )
