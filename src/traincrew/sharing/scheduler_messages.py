"""Messages of schedulers about pods that fit no node: whether the pods lack resources.

Removing a worker frees resources. That does not help pods that wait for something else, such as a volume.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from traincrew.scheduling import filters, pod_affinity

_NODES = re.compile(r"nodes are (?:un)?available: (?P<reasons>.*?)\.(?: |$)", re.DOTALL)
_COUNTED = re.compile(r"\d+ (?P<reason>.+)")
_RESOURCE = re.compile(r"Insufficient \S+|Too many pods")
_FILTERED = (
    filters.NODE_UNSCHEDULABLE,
    filters.NODE_AFFINITY_MISMATCH,
    filters.NODE_NAME_MISMATCH,
    filters.PORT_CONFLICT,
    pod_affinity.AFFINITY_MISMATCH,
    pod_affinity.ANTI_AFFINITY_MISMATCH,
    pod_affinity.EXISTING_ANTI_AFFINITY_MISMATCH,
    pod_affinity.TOPOLOGY_SPREAD_MISMATCH,
    "node(s) had untolerated taint",
    "node(s) had taint",
    "node(s) were reserved for pod group",
)
"""Prefixes of reasons that the filters check as well: a node with such a reason is not used."""
_GANG = re.compile(r"tasks in gang unschedulable|[Gg]ang .* rejected|optimistic rejection|[Pp]od[Gg]roup .* failed recently")
"""About a pod of a gang that waits for the others, by Volcano and scheduler-plugins."""


def lack_resources(messages: Iterable[str]) -> bool:
    """messages: of pods that are served together. False if one of them has a reason that the filters do not check."""
    found = list(messages)
    return bool(found) and all(_GANG.search(each) or _lacks_resources(each) for each in found)


def _lacks_resources(message: str) -> bool:
    reasons = list(_reasons(message))
    resources = [reason for reason in reasons if _RESOURCE.fullmatch(reason)]
    return bool(resources) and all(reason in resources or reason.startswith(_FILTERED) for reason in reasons)


def _reasons(message: str) -> Iterator[str]:
    """The reasons of the nodes. One that holds for all nodes has no count, and is given as it is."""
    found = _NODES.search(message)
    for part in re.split(r", (?=\d+ )", found["reasons"]) if found is not None else ():
        counted = _COUNTED.fullmatch(part)
        yield counted["reason"] if counted is not None else part
