"""The conditions of the Node: those of every kubelet, and isolation, egress and limits of the pods on this node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.embedded.kubelet.runtime.spec import Isolation

ISOLATION_LABEL = "traincrew.kubeflow.org/isolation"
ISOLATED, EGRESS, LIMITED = "traincrew.kubeflow.org/Isolated", "traincrew.kubeflow.org/Egress", "traincrew.kubeflow.org/Limited"


class NodeCondition(NamedTuple):
    status: bool
    reason: str
    message: str


HEALTHY: Mapping[str, NodeCondition] = {
    "MemoryPressure": NodeCondition(False, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": NodeCondition(False, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": NodeCondition(False, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": NodeCondition(True, "KubeletReady", "kubelet is posting ready status"),
}
_ISOLATION = {
    Isolation.ROOT: NodeCondition(True, "Namespaces", "pods run in their own namespaces, created by root"),
    Isolation.USER: NodeCondition(True, "UserNamespace", "pods run in their own namespaces inside a user namespace"),
    Isolation.NONE: NodeCondition(
        False,
        "NoNamespaces",
        "pods run without namespaces: they share the network and the files of the host, and volumes cannot be mounted",
    ),
}


def node_conditions(
    isolation: Isolation, unavailable: Mapping[Isolation, str], netns: NetnsClient | None, why_unlimited: str
) -> dict[str, NodeCondition]:
    """unavailable: why stronger levels of isolation are not used. why_unlimited: why limits are not enforced."""
    isolated = _ISOLATION[isolation]
    message = "; ".join((isolated.message, *(f"not {level}: {reason}" for level, reason in unavailable.items())))
    isolated = isolated._replace(message=message)
    return {**HEALTHY, ISOLATED: isolated, EGRESS: _egress(netns), LIMITED: _limited(why_unlimited)}


def _egress(netns: NetnsClient | None) -> NodeCondition:
    if netns is None:
        return NodeCondition(True, "HostNetwork", "pods share the network of the host")
    if netns.egress:
        return NodeCondition(False, "NoEgress", netns.egress)
    return NodeCondition(True, "Egress", "pods can connect to hosts outside the cluster")


def _limited(why: str) -> NodeCondition:
    limited = "CPU, memory and process limits are enforced"
    return NodeCondition(not why, "NoControlGroups" if why else "ControlGroups", why or limited)
