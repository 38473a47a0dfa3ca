"""Whether a pod can go to a node, and if not why: in the order and the words of kube-scheduler's plugins."""

from __future__ import annotations

from typing import NamedTuple

from traincrew.embedded.scheduling import neighbours, nodematch, volumes
from traincrew.embedded.scheduling.pods import Pod
from traincrew.embedded.scheduling.rooms import Room
from traincrew.embedded.scheduling.world import World

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


def verdict(pod: Pod, room: Room, world: World) -> Verdict | None:
    """None: it can go there."""
    return _node(pod, room) or _shared(pod, room, world) or _others(pod, room, world)


def _node(pod: Pod, room: Room) -> Verdict | None:
    spec, node = pod.spec, room.node
    if node.spec.unschedulable and not nodematch.tolerates(spec.tolerations, nodematch.UNSCHEDULABLE):
        return Verdict((CLOSED,), True)
    if room.taints and (taint := nodematch.untolerated(spec, room.taints)) is not None:
        return Verdict((f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}",), True)
    if spec.node_selector or spec.affinity:
        named = nodematch.only_named(spec.affinity)
        if named is not None and node.name not in named:
            return Verdict((NOT_NAMED,), True)
        if not nodematch.chosen(spec, node):
            return Verdict((NOT_CHOSEN,), True)
    return None


def _shared(pod: Pod, room: Room, world: World) -> Verdict | None:
    if pod.ports and room.ports_taken(pod):
        return Verdict((PORTS,), False)
    if short := room.lacks(pod, world.laws.overcommitted):
        words = tuple("Too many pods" if name == "pods" else f"Insufficient {name}" for name in short)
        return Verdict(words, False, tuple(short))
    if pod.spec.volumes and (reasons := volumes.conflicts(pod, room.node, world.laws.shelf)):
        return Verdict(reasons, True)
    return None


def _others(pod: Pod, room: Room, world: World) -> Verdict | None:
    if not neighbours.concerned(pod, world):
        return None
    if pod.spec.topology_spread_constraints and (reason := neighbours.uneven(pod, room, world)):
        return Verdict((reason,), reason == neighbours.NO_DOMAIN)
    if pod.terms("podAffinity", "required") and not neighbours.company(pod, room, world):
        return Verdict((neighbours.NO_COMPANY,), True)
    if neighbours.repelled(pod, room, world):
        return Verdict((neighbours.BAD_COMPANY,), False)
    if neighbours.unwelcome(pod, room, world):
        return Verdict((neighbours.UNWELCOME,), False)
    return None
