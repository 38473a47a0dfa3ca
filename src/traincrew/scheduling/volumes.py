"""What a pod's claims say about where it may go."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from traincrew.scheduling import node_affinity
from traincrew.scheduling.objects import Claim, Node, PersistentVolume, StorageClass
from traincrew.scheduling.pod_info import PodInfo

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
ELSEWHERE = "node(s) had volume node affinity conflict"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@dataclasses.dataclass(frozen=True)
class Shelf:
    """Claims by namespace and name, volumes and classes by name."""

    claims: Mapping[tuple[str, str], Claim] = dataclasses.field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = dataclasses.field(default_factory=dict)
    classes: Mapping[str, StorageClass] = dataclasses.field(default_factory=dict)


def obstacle(pod: PodInfo, shelf: Shelf) -> str:
    """Why it can go nowhere at all for now; empty: nothing of the kind."""
    unbound = False
    for name, ephemeral in _names(pod):
        claim = shelf.claims.get((pod.metadata.namespace, name))
        if claim is None:
            waiting = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return waiting if ephemeral else f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase == "Lost":
            lost = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
        if claim.metadata.deletion_timestamp:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and not _owned(claim, pod):
            whose = f"{pod.metadata.namespace}/{pod.metadata.name}"
            return f"PVC {pod.metadata.namespace}/{name} was not created for pod {whose} (pod is not owner)"
        unbound |= not _bound(claim) and not _delayed(claim, shelf)
    return UNBOUND if unbound else ""


def conflicts(pod: PodInfo, node: Node, shelf: Shelf) -> tuple[str, ...]:
    """Why it cannot go to that node."""
    missing = elsewhere = False
    for claim in _claims(pod, shelf):
        if not _bound(claim):
            elsewhere |= claim.metadata.annotations.get(SELECTED_NODE, node.name) != node.name
            continue
        volume = shelf.volumes.get(claim.spec.volume_name)
        if volume is None:
            missing = True
        elif (affinity := (volume.spec.node_affinity or {}).get("required")) and not node_affinity.matches(affinity, node):
            elsewhere = True
    return tuple(reason for reason, holds in ((ELSEWHERE, elsewhere), (NO_VOLUME, missing)) if holds)


def awaited(pod: PodInfo, shelf: Shelf) -> list[Claim]:
    """Claims that are bound only when a node for their first consumer is known."""
    return [claim for claim in _claims(pod, shelf) if not _bound(claim)]


def _names(pod: PodInfo) -> Iterator[tuple[str, bool]]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}", True


def _claims(pod: PodInfo, shelf: Shelf) -> Iterator[Claim]:
    for name, _ in _names(pod):
        if (claim := shelf.claims.get((pod.metadata.namespace, name))) is not None:
            yield claim


def _owned(claim: Claim, pod: PodInfo) -> bool:
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def _bound(claim: Claim) -> bool:
    settled = BIND_COMPLETED in claim.metadata.annotations or claim.status.phase == "Bound"
    return bool(claim.spec.volume_name) and settled


def _delayed(claim: Claim, shelf: Shelf) -> bool:
    held = shelf.classes.get(claim.spec.storage_class_name or "")
    return held is not None and held.volume_binding_mode == "WaitForFirstConsumer" and not claim.spec.volume_name
