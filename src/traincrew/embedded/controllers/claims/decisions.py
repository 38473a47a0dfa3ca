"""The decisions of the persistent volume controller. PURE."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.claims import matching, storage_objects
from traincrew.embedded.controllers.pods import Pod

NORMAL, WARNING = "Normal", "Warning"
Event = tuple[str, str, str]


@dataclasses.dataclass(frozen=True)
class ClaimContext:
    volumes: Mapping[str, Object]
    classes: Mapping[str, Object]
    consumers: Sequence[Pod] = ()
    """Pods that use the claim."""
    nodes: int = 1


@dataclasses.dataclass(frozen=True)
class ClaimDecision:
    """For a claim: one of bind, assign and provision is set, or only the phase."""

    bind: Object | None = None
    """The volume."""
    assign: str = ""
    """The default storage class that is set in the claim."""
    provision: Object | None = None
    """The storage class whose provisioner must create a volume."""
    phase: str = ""
    event: Event | None = None


def decide_claim(obj: Object, context: ClaimContext) -> ClaimDecision:
    if storage_objects.COMPLETED in storage_objects.annotations_of(obj):
        return _bound(obj, context)
    if name := obj["spec"].get("volumeName"):
        return _asks_for(obj, context.volumes.get(name))
    return _unbound(obj, context)


def _bound(obj: Object, context: ClaimContext) -> ClaimDecision:
    name = obj["spec"].get("volumeName")
    volume = context.volumes.get(name) if name else None
    if volume is None:
        lost = "its PersistentVolume" if name else "reference to PersistentVolume"
        return ClaimDecision(
            phase="Lost", event=(WARNING, "ClaimLost", f"Bound claim has lost {lost}. Data on the volume is lost!")
        )
    claim_ref = volume["spec"].get("claimRef")
    if claim_ref and claim_ref.get("uid") != obj["metadata"]["uid"]:
        message = "Two claims are bound to the same volume, this one is bound incorrectly"
        return ClaimDecision(phase="Lost", event=(WARNING, "ClaimMisbound", message))
    return ClaimDecision(bind=volume)


def _asks_for(obj: Object, volume: Object | None) -> ClaimDecision:
    if volume is None:
        return ClaimDecision(phase="Pending")
    name = volume["metadata"]["name"]
    if not volume["spec"].get("claimRef"):
        if why := matching.mismatch(volume, obj):
            message = f'Cannot bind to requested volume "{name}": {why}'
            return ClaimDecision(phase="Pending", event=(WARNING, "VolumeMismatch", message))
        return ClaimDecision(bind=volume)
    if storage_objects.reserved_for(volume, obj):
        return ClaimDecision(bind=volume)
    message = f'volume "{name}" already bound to a different claim.'
    return ClaimDecision(phase="Pending", event=(WARNING, "FailedBinding", message))


def _unbound(obj: Object, context: ClaimContext) -> ClaimDecision:
    name = storage_objects.class_of(obj)
    storage_class = context.classes.get(name or "")
    delayed = (
        storage_class is not None
        and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        and not _awaited(obj, context)
    )
    if (volume := matching.best(obj, context.volumes.values(), delayed)) is not None:
        return ClaimDecision(bind=volume)
    if name is None and (default := storage_objects.default_class(context.classes.values())) is not None:
        return ClaimDecision(assign=default["metadata"]["name"])
    if delayed:
        return ClaimDecision(phase="Pending", event=_waiting(context.consumers))
    if not name:
        message = "no persistent volumes available for this claim and no storage class is set"
        return ClaimDecision(phase="Pending", event=(NORMAL, "FailedBinding", message))
    if storage_class is None:
        message = f'storageclass.storage.k8s.io "{name}" not found'
        return ClaimDecision(phase="Pending", event=(WARNING, "ProvisioningFailed", message))
    return _provisioned(storage_class)


def _provisioned(storage_class: Object) -> ClaimDecision:
    provisioner = storage_class["provisioner"]
    if provisioner.startswith("kubernetes.io/"):
        message = f"no volume plugin matched name: {provisioner}"
        return ClaimDecision(phase="Pending", event=(WARNING, "ProvisioningFailed", message))
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system "
        "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    )
    return ClaimDecision(provision=storage_class, phase="Pending", event=(NORMAL, "ExternalProvisioning", message))


def _awaited(obj: Object, context: ClaimContext) -> bool:
    """Whether the node of the first consumer is known; with a single node it always is."""
    if storage_objects.SELECTED_NODE in storage_objects.annotations_of(obj):
        return True
    return any(pod.spec.node_name or (context.nodes == 1 and pod.active) for pod in context.consumers)


def _waiting(consumers: Sequence[Pod]) -> Event:
    names = [pod.metadata.name for pod in consumers if not pod.spec.node_name]
    if not names:
        return NORMAL, "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
    noun = "pods" if len(names) > 1 else "pod"
    return NORMAL, "WaitForPodScheduled", f"waiting for {noun} {','.join(names)} to be scheduled"


@dataclasses.dataclass(frozen=True)
class VolumeDecision:
    """For a volume."""

    phase: str = ""
    message: str = ""
    unbind: bool = False
    reconcile_claim: bool = False
    event: Event | None = None


def decide_volume(obj: Object, claim: Object | None) -> VolumeDecision:
    """claim: the claim that the volume names, if it exists with that UID."""
    named = obj["spec"].get("claimRef")
    if not named or not named.get("uid"):
        return VolumeDecision(phase="Available")
    if storage_objects.claim_key(obj) is None:
        return VolumeDecision()  # nobody can tell whether the claim exists: the volume and its data stay as they are
    if claim is None:
        return _released(obj)
    bound_to = claim["spec"].get("volumeName", "")
    if not bound_to:
        return VolumeDecision(reconcile_claim=True)
    if bound_to == obj["metadata"]["name"]:
        return VolumeDecision(phase="Bound")
    if (
        storage_objects.PROVISIONED in storage_objects.annotations_of(obj)
        and obj["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
    ):
        return _released(obj)
    return VolumeDecision(unbind=True, phase="Available")


def _released(obj: Object) -> VolumeDecision:
    if storage_objects.phase(obj) not in ("Released", "Failed"):
        return VolumeDecision(phase="Released")
    foreign = storage_objects.PROVISIONED not in storage_objects.annotations_of(obj)
    policy, host_path = obj["spec"].get("persistentVolumeReclaimPolicy"), (obj["spec"].get("hostPath") or {}).get("path", "")
    if policy == "Recycle":
        message = "No recycler plugin found for the volume!"
        return VolumeDecision("Failed", message, event=(WARNING, "VolumeFailedRecycle", message))
    if policy == "Delete" and foreign:
        which = host_path or "this one"
        message = f"reclaimPolicy Delete needs a provisioned volume, and {which} was created by hand: use Retain"
        return VolumeDecision("Failed", message, event=(WARNING, "VolumeFailedDelete", message))
    return VolumeDecision()
