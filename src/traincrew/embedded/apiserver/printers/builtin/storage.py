"""PersistentVolumes, claims, storage classes."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery.durations import Ages
from traincrew.embedded.apiserver.printers.builtin.cells import UNSET, Fields, LabelledMetadata, Metadata, Quantity, Reference
from traincrew.embedded.apiserver.printers.columns import Printer, definitions

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


class _Object(Fields):
    metadata: LabelledMetadata = msgspec.field(default_factory=LabelledMetadata)


class VolumeSpec(Fields):
    capacity: dict[str, Quantity] = {}
    access_modes: list[str] = []
    persistent_volume_reclaim_policy: str = ""
    claim_ref: Reference | None = None
    storage_class_name: str = ""
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None


class Phase(Fields):
    phase: str = ""
    reason: str = ""
    access_modes: list[str] = []
    capacity: dict[str, Quantity] = {}


class PersistentVolume(_Object):
    spec: VolumeSpec = msgspec.field(default_factory=VolumeSpec)
    status: Phase = msgspec.field(default_factory=Phase)


def _volume(kept: PersistentVolume, ages: Ages) -> list[Any]:
    spec, claim = kept.spec, kept.spec.claim_ref
    cells = [kept.metadata.name, str(spec.capacity.get("storage", 0)), _access(spec.access_modes)]
    cells += [spec.persistent_volume_reclaim_policy, _phase(kept.metadata, kept.status)]
    cells += [f"{claim.namespace}/{claim.name}" if claim is not None else ""]
    cells += [kept.metadata.annotations.get(_OLD_CLASS, spec.storage_class_name), _or_unset(spec.volume_attributes_class_name)]
    return [*cells, kept.status.reason, ages.since(kept.metadata.creation_timestamp), _or_unset(spec.volume_mode)]


def _access(modes: list[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _phase(metadata: Metadata, status: Phase) -> str:
    return status.phase if metadata.deletion_timestamp is None else "Terminating"


def _or_unset(value: str | None) -> str:
    return UNSET if value is None else value


class ClaimSpec(Fields):
    volume_name: str = ""
    storage_class_name: str = ""
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None


class PersistentVolumeClaim(_Object):
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)
    status: Phase = msgspec.field(default_factory=Phase)


def _claim(kept: PersistentVolumeClaim, ages: Ages) -> list[Any]:
    spec, status = kept.spec, kept.status
    capacity, modes = "", ""
    if spec.volume_name:
        capacity, modes = str(status.capacity.get("storage", 0)), _access(status.access_modes)
    cells = [kept.metadata.name, _phase(kept.metadata, status), spec.volume_name, capacity, modes]
    cells += [kept.metadata.annotations.get(_OLD_CLASS, spec.storage_class_name), _or_unset(spec.volume_attributes_class_name)]
    return [*cells, ages.since(kept.metadata.creation_timestamp), _or_unset(spec.volume_mode)]


class StorageClass(_Object):
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
    allow_volume_expansion: bool = False


def _class(kept: StorageClass, ages: Ages) -> list[Any]:
    default = any(kept.metadata.annotations.get(each) == "true" for each in _DEFAULT_CLASS)
    name = f"{kept.metadata.name} (default)" if default else kept.metadata.name
    cells = [name, kept.provisioner, kept.reclaim_policy, kept.volume_binding_mode, kept.allow_volume_expansion]
    return [*cells, ages.since(kept.metadata.creation_timestamp)]


_CLASSES = ("StorageClass", "VolumeAttributesClass")
_VOLUME = ("Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", *_CLASSES, "Reason", "Age", "VolumeMode*")
_CLAIM = definitions("Name", "Status", "Volume", "Capacity", "Access Modes", *_CLASSES, "Age", "VolumeMode*")
_CLASS = definitions("Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age")
PRINTERS = {
    ("", "PersistentVolume"): Printer(definitions(*_VOLUME), PersistentVolume, _volume),
    ("", "PersistentVolumeClaim"): Printer(_CLAIM, PersistentVolumeClaim, _claim),
    ("storage.k8s.io", "StorageClass"): Printer(_CLASS, StorageClass, _class),
}
