"""StorageObjectInUseProtection: volumes and claims get the finalizer that the controllers remove when nothing uses them."""

from __future__ import annotations

from traincrew.embedded.apiserver.admission.attributes import CREATE, AdmissionAttributes, Listers

FINALIZERS = {"persistentvolumes": "kubernetes.io/pv-protection", "persistentvolumeclaims": "kubernetes.io/pvc-protection"}


def admit(attributes: AdmissionAttributes, _listers: Listers) -> None:
    resource = attributes.info.store_name
    if resource not in FINALIZERS or not attributes.is_for(resource, CREATE):
        return
    metadata = attributes.object["metadata"]
    finalizers = metadata.get("finalizers") or []
    if FINALIZERS[resource] not in finalizers:
        metadata["finalizers"] = [*finalizers, FINALIZERS[resource]]
