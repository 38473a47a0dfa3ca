"""Refusals in kube-scheduler's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from traincrew.scheduling.filters import Verdict

NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER = "preemption: not eligible due to preemptionPolicy=Never."
WAITING = "preemption: not eligible due to a terminating pod on the nominated node."

MORE_MEMORY = "To let pods ask for more memory than there is, start the cluster with `traincrew up --overcommit memory`."


def unfit(verdicts: Iterable[Verdict]) -> str:
    """Why none of the nodes will do, one verdict for each."""
    held = list(verdicts)
    counts = Counter(reason for each in held for reason in each.reasons)
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{len(held)} nodes are available: {told}."


def obstacle(nodes: int, reason: str) -> str:
    """Something that no node could help."""
    return f"0/{nodes} nodes are available: {reason}. {futile([Verdict((NOT_HELPFUL,), True)] * nodes)}"


def futile(verdicts: Iterable[Verdict]) -> str:
    return f"preemption: {unfit(verdicts)}"


def advice(short: Iterable[str], wanted: Mapping[str, int], capacity: Mapping[str, int]) -> str:
    """What would help on a machine of one's own; empty: nothing that an option could."""
    for name in sorted(set(short)):
        if name == "memory":
            return _never(wanted.get(name, 0), capacity.get(name, 0)) + MORE_MEMORY
        if "/" in name and wanted.get(name, 0) > (held := capacity.get(name, 0)):
            return (
                f"This machine has {held or 'no'} {name}; `traincrew up --device {name}=N` declares {'more' if held else 'some'}."
            )
    return ""


def _never(wanted: int, held: int) -> str:
    """Apart from what others hold now: that will be free one day."""
    if wanted <= held:
        return ""
    return (
        f"This machine has {_gibibytes(held)} of memory for pods, and this one asks for {_gibibytes(wanted)}: it will never fit. "
    )


def _gibibytes(value: int) -> str:
    return f"{value / 2**30:.4g} GiB"


def siblings(pod: str, found: int, least: int) -> str:
    return f"pre-filter pod {pod} cannot find enough sibling pods, current pods number: {found}, minMember of group: {least}"


def gang(unfit: int, pending: int, tasks: int, least: int) -> str:
    """Volcano's words for a gang of which only a part would fit."""
    parts = [f"{count} {word}" for count, word in ((pending - unfit, "Schedulable"), (unfit, "Unschedulable")) if count]
    return (
        f"{unfit}/{tasks} tasks in gang unschedulable: pod group is not ready, {pending} Pending, {least} minAvailable; "
        f"Pending: {', '.join(parts)}"
    )
