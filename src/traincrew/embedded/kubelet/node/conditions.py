"""What the node says of its own abilities, in words for whoever looks at it."""

from __future__ import annotations

from collections.abc import Mapping

from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.embedded.kubelet.node.registration import Condition
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.spec import Isolation

LEVEL = "traincrew.kubeflow.org/isolation"
"""The label with the level of isolation."""
ISOLATED, EGRESS, LIMITED = "traincrew.kubeflow.org/Isolated", "traincrew.kubeflow.org/Egress", "traincrew.kubeflow.org/Limited"

_LEVELS = {
    Isolation.ROOT: Condition(True, "Namespaces", "pods have namespaces of their own, made by root"),
    Isolation.USER: Condition(True, "UserNamespace", "pods have namespaces of their own within a user namespace"),
    Isolation.NONE: Condition(
        False, "NoNamespaces", "pods are plain processes: they share the host's network and files, and volumes cannot be mounted"
    ),
}


def of(level: Isolation, refusals: Mapping[Isolation, str], holder: NetnsClient | None) -> dict[str, Condition]:
    if holder is None:
        outside = Condition(True, "HostNetwork", "pods share the host's network")
    elif holder.egress:
        outside = Condition(False, "NoEgress", holder.egress)
    else:
        outside = Condition(True, "Egress", "pods reach the world outside")
    told = "; ".join((_LEVELS[level].message, *(f"not {better}: {why}" for better, why in refusals.items())))
    return {ISOLATED: _LEVELS[level]._replace(message=told), EGRESS: outside, LIMITED: _limited()}


def _limited() -> Condition:
    why = hierarchies.discover().warning
    return Condition(not why, "NoControlGroups" if why else "ControlGroups", why or "limits of cpu, memory and processes hold")
