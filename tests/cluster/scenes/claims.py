"""Claims and volumes, bound, refused, released, lost."""

from __future__ import annotations

from typing import Any

from tests.cluster.api import Object
from tests.cluster.scenes.stage import Stage


def claim(name: str = "c", size: str = "1Gi", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> Object:
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(stage: Stage, name: str, size: str = "1Gi", **spec: Any) -> Object:
    """Its name and class are this scene's own: volumes are everybody's."""
    spec = {
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"},
        "storageClassName": stage.namespace, **spec,
    }  # fmt: skip
    meta = {"name": f"{stage.namespace}-{name}", "labels": {"is": name}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}


def phase(stage: Stage, plural: str, name: str) -> str:
    found: str = stage.get(plural, name).get("status", {}).get("phase", "")
    return found


def available(stage: Stage, name: str) -> None:
    stage.becomes(lambda: phase(stage, "persistentvolumes", f"{stage.namespace}-{name}") == "Available")


def volumes(stage: Stage) -> list[Object]:
    return [each for each in stage.all("persistentvolumes") if each["metadata"]["name"].startswith(stage.namespace)]


def seen(stage: Stage) -> Object:
    held, claims = volumes(stage), stage.all("persistentvolumeclaims")
    for each in (*held, *claims):
        each["metadata"].pop("namespace", None)
    told = [stage.plain(each) for each in stage.all("events") if each["involvedObject"]["kind"].startswith("Persistent")]
    said = sorted({(each["type"], each["reason"], each["message"], each["source"]["component"]) for each in told})
    return {"volumes": stage.plain(held), "claims": stage.plain(claims), "events": said}


def gets_the_smallest_that_fits(stage: Stage) -> Object:
    for name, size in (("small", "500Mi"), ("large", "5Gi"), ("right", "2Gi")):
        stage.create("persistentvolumes", volume(stage, name, size))
    for name in ("small", "large", "right"):
        available(stage, name)
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Bound")
    return seen(stage)


def is_bound_by_name(stage: Stage) -> Object:
    """As the volume and the claim of a shared directory for events are written by hand."""
    name = f"{stage.namespace}-v"
    stage.create("persistentvolumeclaims", claim(modes=("ReadWriteMany",), storageClassName=stage.namespace, volumeName=name))
    stage.create("persistentvolumes", volume(stage, "v", "10Gi", accessModes=["ReadWriteMany"]))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Bound")
    return seen(stage)


def asks_for_one_that_does_not_fit(stage: Stage) -> Object:
    held = volume(stage, "v")
    stage.create("persistentvolumes", held)
    stage.becomes(lambda: phase(stage, "persistentvolumes", held["metadata"]["name"]) == "Available")
    named: Object = {"storageClassName": stage.namespace, "volumeName": held["metadata"]["name"]}
    stage.create("persistentvolumeclaims", claim("size", "2Gi", **named))
    stage.create("persistentvolumeclaims", claim("modes", modes=("ReadWriteMany",), **named))
    stage.create("persistentvolumeclaims", claim("class", **{**named, "storageClassName": ""}))
    stage.becomes(lambda: len([each for each in stage.all("events") if each["reason"] == "VolumeMismatch"]) >= 3)
    return seen(stage)


def asks_for_anothers(stage: Stage) -> Object:
    held = volume(stage, "v")
    stage.create("persistentvolumes", held)
    named: Object = {"storageClassName": stage.namespace, "volumeName": held["metadata"]["name"]}
    stage.create("persistentvolumeclaims", claim("first", **named))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "first") == "Bound")
    stage.create("persistentvolumeclaims", claim("second", **named))
    stage.event("FailedBinding")
    return seen(stage)


def selects_by_label(stage: Stage) -> Object:
    for name in ("one", "two"):
        stage.create("persistentvolumes", volume(stage, name))
        available(stage, name)
    chosen = {"matchExpressions": [{"key": "is", "operator": "In", "values": ["two"]}]}
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace, selector=chosen))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Bound")
    return seen(stage)


def has_one_reserved(stage: Stage) -> Object:
    reserved = {"namespace": stage.namespace, "name": "c"}
    stage.create("persistentvolumes", volume(stage, "v", "9Gi", claimRef=reserved))
    stage.create("persistentvolumes", volume(stage, "w"))
    for name in ("v", "w"):
        available(stage, name)
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Bound")
    return seen(stage)


def has_no_class(stage: Stage) -> Object:
    stage.create("persistentvolumeclaims", claim(storageClassName=""))
    stage.event("FailedBinding")
    return seen(stage)


def has_an_unknown_class(stage: Stage) -> Object:
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.event("ProvisioningFailed")
    return seen(stage)


def storage_class(stage: Stage, **fields: Any) -> None:
    fields = {"provisioner": "example.com/none", **fields}
    meta = {"name": stage.namespace}
    stage.create("storageclasses", {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, **fields})


def waits_for_a_provisioner(stage: Stage) -> Object:
    storage_class(stage)
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.event("ExternalProvisioning")
    return seen(stage)


def has_no_provisioner(stage: Stage) -> Object:
    storage_class(stage, provisioner="kubernetes.io/no-provisioner")
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.event("ProvisioningFailed")
    return seen(stage)


def waits_for_its_first_consumer(stage: Stage) -> Object:
    storage_class(stage, volumeBindingMode="WaitForFirstConsumer")
    held = volume(stage, "v")
    stage.create("persistentvolumes", held)
    stage.becomes(lambda: phase(stage, "persistentvolumes", held["metadata"]["name"]) == "Available")
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.event("WaitForFirstConsumer")
    return seen(stage)


def is_released(stage: Stage) -> Object:
    held = volume(stage, "v")
    stage.create("persistentvolumes", held)
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Bound")
    stage.delete("persistentvolumeclaims", "c")
    stage.becomes(lambda: stage.gone("persistentvolumeclaims", "c"))
    stage.becomes(lambda: phase(stage, "persistentvolumes", held["metadata"]["name"]) == "Released")
    return seen(stage)


def is_kept_while_it_is_used(stage: Stage) -> Object:
    held = volume(stage, "v")
    stage.create("persistentvolumes", held)
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Bound")
    used = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": used}
    stage.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    stage.kubelet.run("p")
    stage.delete("persistentvolumeclaims", "c")
    stage.delete("persistentvolumes", held["metadata"]["name"])
    both = stage.plain([stage.get("persistentvolumeclaims", "c")["metadata"], *(each["metadata"] for each in volumes(stage))])
    stage.delete("pods", "p")
    stage.kubelet.gone("p")
    stage.becomes(lambda: stage.gone("persistentvolumeclaims", "c") and not volumes(stage))
    return {"used": both}


def loses_its_volume(stage: Stage) -> Object:
    held = volume(stage, "v")
    name = held["metadata"]["name"]
    stage.create("persistentvolumes", held)
    stage.create("persistentvolumeclaims", claim(storageClassName=stage.namespace))
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Bound")
    stage.delete("persistentvolumes", name)
    stage.patch("persistentvolumes", name, {"metadata": {"finalizers": None}})
    stage.becomes(lambda: phase(stage, "persistentvolumeclaims", "c") == "Lost")
    stage.event("ClaimLost")
    return seen(stage)


SCENES = (
    gets_the_smallest_that_fits, is_bound_by_name, asks_for_one_that_does_not_fit, asks_for_anothers, selects_by_label,
    has_one_reserved, has_no_class, has_an_unknown_class, waits_for_a_provisioner, has_no_provisioner,
    waits_for_its_first_consumer, is_released, is_kept_while_it_is_used, loses_its_volume,
)  # fmt: skip
