"""Volume binding: whether the claims of a pod allow a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from traincrew.scheduling import node_affinity
from traincrew.scheduling.objects import Node, PersistentVolume, PersistentVolumeClaim, StorageClass
from traincrew.scheduling.pod_info import PodInfo

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
VOLUME_NOT_FOUND = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
VOLUME_NODE_CONFLICT = "node(s) had volume node affinity conflict"
UNBOUND_IMMEDIATE_CLAIMS = "pod has unbound immediate PersistentVolumeClaims"


@dataclasses.dataclass(frozen=True)
class StorageObjects:
    """Claims by namespace and name, volumes and classes by name."""

    claims: Mapping[tuple[str, str], PersistentVolumeClaim] = dataclasses.field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = dataclasses.field(default_factory=dict)
    classes: Mapping[str, StorageClass] = dataclasses.field(default_factory=dict)


def unresolvable_reason(pod: PodInfo, storage: StorageObjects) -> str:
    """Why the claims allow no node at all; empty: they allow some."""
    unbound = False
    for name, ephemeral in _claim_names(pod):
        claim = storage.claims.get((pod.metadata.namespace, name))
        if claim is None:
            waiting = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return waiting if ephemeral else f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase == "Lost":
            lost = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
        if claim.metadata.deletion_timestamp:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and not _is_owned(claim, pod):
            whose = f"{pod.metadata.namespace}/{pod.metadata.name}"
            return f"PVC {pod.metadata.namespace}/{name} was not created for pod {whose} (pod is not owner)"
        unbound |= not _is_bound(claim) and not _waits_for_consumer(claim, storage)
    return UNBOUND_IMMEDIATE_CLAIMS if unbound else ""


def node_conflicts(pod: PodInfo, node: Node, storage: StorageObjects) -> tuple[str, ...]:
    """Why the claims do not allow this node."""
    missing = elsewhere = False
    for claim in _claims(pod, storage):
        if not _is_bound(claim):
            elsewhere |= claim.metadata.annotations.get(SELECTED_NODE, node.name) != node.name
            continue
        volume = storage.volumes.get(claim.spec.volume_name)
        if volume is None:
            missing = True
        elif (affinity := (volume.spec.node_affinity or {}).get("required")) and not node_affinity.matches(affinity, node):
            elsewhere = True
    return tuple(reason for reason, holds in ((VOLUME_NODE_CONFLICT, elsewhere), (VOLUME_NOT_FOUND, missing)) if holds)


def unbound_claims(pod: PodInfo, storage: StorageObjects) -> list[PersistentVolumeClaim]:
    """Claims that are bound once the node of their first consumer is known (WaitForFirstConsumer)."""
    return [claim for claim in _claims(pod, storage) if not _is_bound(claim)]


def _claim_names(pod: PodInfo) -> Iterator[tuple[str, bool]]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}", True


def _claims(pod: PodInfo, storage: StorageObjects) -> Iterator[PersistentVolumeClaim]:
    for name, _ in _claim_names(pod):
        if (claim := storage.claims.get((pod.metadata.namespace, name))) is not None:
            yield claim


def _is_owned(claim: PersistentVolumeClaim, pod: PodInfo) -> bool:
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def _is_bound(claim: PersistentVolumeClaim) -> bool:
    settled = BIND_COMPLETED in claim.metadata.annotations or claim.status.phase == "Bound"
    return bool(claim.spec.volume_name) and settled


def _waits_for_consumer(claim: PersistentVolumeClaim, storage: StorageObjects) -> bool:
    storage_class = storage.classes.get(claim.spec.storage_class_name or "")
    return (
        storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer" and not claim.spec.volume_name
    )
