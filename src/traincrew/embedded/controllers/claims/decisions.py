"""What becomes of a claim, and of a volume."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.controllers.claims import matching, resources
from traincrew.embedded.controllers.pods import Pod

NORMAL, WARNING = "Normal", "Warning"
Event = tuple[str, str, str]


@dataclasses.dataclass(frozen=True)
class World:
    volumes: Mapping[str, Object]
    classes: Mapping[str, Object]
    consumers: Sequence[Pod] = ()
    """Pods that use the claim."""
    nodes: int = 1


@dataclasses.dataclass(frozen=True)
class Fate:
    """Of a claim: exactly one of the first four says something, or it only has a phase."""

    bind: Object | None = None
    """The volume."""
    assign: str = ""
    """The storage class that it is given."""
    provision: Object | None = None
    """The storage class whose provisioner is asked for a volume."""
    phase: str = ""
    event: Event | None = None


def claim(obj: Object, world: World) -> Fate:
    if resources.COMPLETED in resources.marks(obj):
        return _bound(obj, world)
    if name := obj["spec"].get("volumeName"):
        return _asks_for(obj, world.volumes.get(name))
    return _unbound(obj, world)


def _bound(obj: Object, world: World) -> Fate:
    name = obj["spec"].get("volumeName")
    volume = world.volumes.get(name) if name else None
    if volume is None:
        lost = "its PersistentVolume" if name else "reference to PersistentVolume"
        return Fate(phase="Lost", event=(WARNING, "ClaimLost", f"Bound claim has lost {lost}. Data on the volume is lost!"))
    holder = volume["spec"].get("claimRef")
    if holder and holder.get("uid") != obj["metadata"]["uid"]:
        told = "Two claims are bound to the same volume, this one is bound incorrectly"
        return Fate(phase="Lost", event=(WARNING, "ClaimMisbound", told))
    return Fate(bind=volume)


def _asks_for(obj: Object, volume: Object | None) -> Fate:
    if volume is None:
        return Fate(phase="Pending")
    name = volume["metadata"]["name"]
    if not volume["spec"].get("claimRef"):
        if why := matching.mismatch(volume, obj):
            told = f'Cannot bind to requested volume "{name}": {why}'
            return Fate(phase="Pending", event=(WARNING, "VolumeMismatch", told))
        return Fate(bind=volume)
    if resources.reserved_for(volume, obj):
        return Fate(bind=volume)
    told = f'volume "{name}" already bound to a different claim.'
    return Fate(phase="Pending", event=(WARNING, "FailedBinding", told))


def _unbound(obj: Object, world: World) -> Fate:
    name = resources.class_of(obj)
    found = world.classes.get(name or "")
    delayed = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer" and not _awaited(obj, world)
    if (volume := matching.best(obj, world.volumes.values(), delayed)) is not None:
        return Fate(bind=volume)
    if name is None and (default := resources.default_class(world.classes.values())) is not None:
        return Fate(assign=default["metadata"]["name"])
    if delayed:
        return Fate(phase="Pending", event=_waiting(world.consumers))
    if not name:
        told = "no persistent volumes available for this claim and no storage class is set"
        return Fate(phase="Pending", event=(NORMAL, "FailedBinding", told))
    if found is None:
        told = f'storageclass.storage.k8s.io "{name}" not found'
        return Fate(phase="Pending", event=(WARNING, "ProvisioningFailed", told))
    return _provisioned(found)


def _provisioned(found: Object) -> Fate:
    provisioner = found["provisioner"]
    if provisioner.startswith("kubernetes.io/"):
        told = f"no volume plugin matched name: {provisioner}"
        return Fate(phase="Pending", event=(WARNING, "ProvisioningFailed", told))
    told = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system "
        "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    )
    return Fate(provision=found, phase="Pending", event=(NORMAL, "ExternalProvisioning", told))


def _awaited(obj: Object, world: World) -> bool:
    """Whether it is known on which node the first consumer runs; where there is one node only, that is always known."""
    if resources.SELECTED_NODE in resources.marks(obj):
        return True
    return any(pod.spec.node_name or (world.nodes == 1 and pod.active) for pod in world.consumers)


def _waiting(consumers: Sequence[Pod]) -> Event:
    names = [pod.metadata.name for pod in consumers if not pod.spec.node_name]
    if not names:
        return NORMAL, "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
    word = "pods" if len(names) > 1 else "pod"
    return NORMAL, "WaitForPodScheduled", f"waiting for {word} {','.join(names)} to be scheduled"


@dataclasses.dataclass(frozen=True)
class Lot:
    """Of a volume."""

    phase: str = ""
    message: str = ""
    unbind: bool = False
    look_at_claim: bool = False
    event: Event | None = None


def volume(obj: Object, holder: Object | None) -> Lot:
    """holder: the claim that it names, if there is one of that name and UID."""
    named = obj["spec"].get("claimRef")
    if not named or not named.get("uid"):
        return Lot(phase="Available")
    if holder is None:
        return _released(obj)
    bound_to = holder["spec"].get("volumeName", "")
    if not bound_to:
        return Lot(look_at_claim=True)
    if bound_to == obj["metadata"]["name"]:
        return Lot(phase="Bound")
    if resources.PROVISIONED in resources.marks(obj) and obj["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return _released(obj)
    return Lot(unbind=True, phase="Available")


def _released(obj: Object) -> Lot:
    if resources.phase(obj) not in ("Released", "Failed"):
        return Lot(phase="Released")
    foreign = resources.PROVISIONED not in resources.marks(obj)
    policy, host_path = obj["spec"].get("persistentVolumeReclaimPolicy"), (obj["spec"].get("hostPath") or {}).get("path", "")
    if policy == "Recycle":
        told = "No recycler plugin found for the volume!"
        return Lot("Failed", told, event=(WARNING, "VolumeFailedRecycle", told))
    if policy == "Delete" and foreign:
        told = f"only volumes that were provisioned are deleted with their claims, not {host_path or 'this one'}"
        return Lot("Failed", told, event=(WARNING, "VolumeFailedDelete", told))
    return Lot()
