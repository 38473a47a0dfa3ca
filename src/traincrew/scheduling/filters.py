"""Whether a pod can go to a node, and if not why: in the order and the words of kube-scheduler's plugins."""

from __future__ import annotations

from typing import NamedTuple

from traincrew.scheduling import node_affinity, pod_affinity, volumes
from traincrew.scheduling.node_info import NodeInfo
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.snapshot import Snapshot

CLOSED = "node(s) were unschedulable"
NOT_CHOSEN = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
PORTS = "node(s) didn't have free ports for the requested pod ports"


class Verdict(NamedTuple):
    reasons: tuple[str, ...]
    hopeless: bool
    """Whether it stays so even if other pods go."""
    short: tuple[str, ...] = ()
    """The resources that do not suffice."""


def verdict(pod: PodInfo, room: NodeInfo, world: Snapshot) -> Verdict | None:
    """None: it can go there."""
    return _node(pod, room) or _shared(pod, room, world) or _others(pod, room, world)


def _node(pod: PodInfo, room: NodeInfo) -> Verdict | None:
    spec, node = pod.spec, room.node
    if node.spec.unschedulable and not node_affinity.tolerates(spec.tolerations, node_affinity.UNSCHEDULABLE):
        return Verdict((CLOSED,), True)
    if room.taints and (taint := node_affinity.untolerated(spec, room.taints)) is not None:
        return Verdict((f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}",), True)
    if spec.node_selector or spec.affinity:
        named = node_affinity.only_named(spec.affinity)
        if named is not None and node.name not in named:
            return Verdict((NOT_NAMED,), True)
        if not node_affinity.chosen(spec, node):
            return Verdict((NOT_CHOSEN,), True)
    return None


def _shared(pod: PodInfo, room: NodeInfo, world: Snapshot) -> Verdict | None:
    if pod.ports and room.ports_taken(pod):
        return Verdict((PORTS,), False)
    if short := room.lacks(pod, world.laws.overcommitted):
        words = tuple("Too many pods" if name == "pods" else f"Insufficient {name}" for name in short)
        return Verdict(words, False, tuple(short))
    if pod.spec.volumes and (reasons := volumes.conflicts(pod, room.node, world.laws.shelf)):
        return Verdict(reasons, True)
    return None


def _others(pod: PodInfo, room: NodeInfo, world: Snapshot) -> Verdict | None:
    if not pod_affinity.concerned(pod, world):
        return None
    if pod.spec.topology_spread_constraints and (reason := pod_affinity.uneven(pod, room, world)):
        return Verdict((reason,), reason == pod_affinity.NO_DOMAIN)
    if pod.terms("podAffinity", "required") and not pod_affinity.company(pod, room, world):
        return Verdict((pod_affinity.NO_COMPANY,), True)
    if pod_affinity.repelled(pod, room, world):
        return Verdict((pod_affinity.BAD_COMPANY,), False)
    if pod_affinity.unwelcome(pod, room, world):
        return Verdict((pod_affinity.UNWELCOME,), False)
    return None
