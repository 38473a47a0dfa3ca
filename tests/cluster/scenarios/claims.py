"""PersistentVolumeClaims and volumes: bound, rejected, released, lost."""

from __future__ import annotations

from typing import Any

from tests.cluster.api import Object
from tests.cluster.scenarios.scenario import ControllerScenario


def claim(name: str = "c", size: str = "1Gi", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> Object:
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(scenario: ControllerScenario, name: str, size: str = "1Gi", **spec: Any) -> Object:
    """Name and class are unique to the scenario, since volumes have no namespace."""
    spec = {
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"},
        "storageClassName": scenario.namespace, **spec,
    }  # fmt: skip
    meta = {"name": f"{scenario.namespace}-{name}", "labels": {"is": name}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}


def phase(scenario: ControllerScenario, plural: str, name: str) -> str:
    found: str = scenario.get(plural, name).get("status", {}).get("phase", "")
    return found


def available(scenario: ControllerScenario, name: str) -> None:
    """Waits until the controller knows the volume. It may learn of a claim first that is created after the volume."""
    scenario.becomes(lambda: phase(scenario, "persistentvolumes", f"{scenario.namespace}-{name}") == "Available")


def volumes(scenario: ControllerScenario) -> list[Object]:
    return [each for each in scenario.all("persistentvolumes") if each["metadata"]["name"].startswith(scenario.namespace)]


def seen(scenario: ControllerScenario) -> Object:
    held, claims = volumes(scenario), scenario.all("persistentvolumeclaims")
    for each in (*held, *claims):
        each["metadata"].pop("namespace", None)
    events = [scenario.plain(each) for each in scenario.all("events") if each["involvedObject"]["kind"].startswith("Persistent")]
    said = sorted({(each["type"], each["reason"], each["message"], each["source"]["component"]) for each in events})
    return {"volumes": scenario.plain(held), "claims": scenario.plain(claims), "events": said}


def gets_the_smallest_that_fits(scenario: ControllerScenario) -> Object:
    for name, size in (("small", "500Mi"), ("large", "5Gi"), ("right", "2Gi")):
        scenario.create("persistentvolumes", volume(scenario, name, size))
    for name in ("small", "large", "right"):
        available(scenario, name)
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Bound")
    return seen(scenario)


def is_bound_by_name(scenario: ControllerScenario) -> Object:
    """A volume and a claim that refer to each other, as written by hand for a shared directory."""
    name = f"{scenario.namespace}-v"
    scenario.create(
        "persistentvolumeclaims", claim(modes=("ReadWriteMany",), storageClassName=scenario.namespace, volumeName=name)
    )
    scenario.create("persistentvolumes", volume(scenario, "v", "10Gi", accessModes=["ReadWriteMany"]))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Bound")
    return seen(scenario)


def asks_for_one_that_does_not_fit(scenario: ControllerScenario) -> Object:
    held = volume(scenario, "v")
    scenario.create("persistentvolumes", held)
    scenario.becomes(lambda: phase(scenario, "persistentvolumes", held["metadata"]["name"]) == "Available")
    named: Object = {"storageClassName": scenario.namespace, "volumeName": held["metadata"]["name"]}
    scenario.create("persistentvolumeclaims", claim("size", "2Gi", **named))
    scenario.create("persistentvolumeclaims", claim("modes", modes=("ReadWriteMany",), **named))
    scenario.create("persistentvolumeclaims", claim("class", **{**named, "storageClassName": ""}))
    scenario.becomes(lambda: len([each for each in scenario.all("events") if each["reason"] == "VolumeMismatch"]) >= 3)
    return seen(scenario)


def asks_for_anothers(scenario: ControllerScenario) -> Object:
    held = volume(scenario, "v")
    scenario.create("persistentvolumes", held)
    named: Object = {"storageClassName": scenario.namespace, "volumeName": held["metadata"]["name"]}
    scenario.create("persistentvolumeclaims", claim("first", **named))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "first") == "Bound")
    scenario.create("persistentvolumeclaims", claim("second", **named))
    scenario.event("FailedBinding")
    return seen(scenario)


def selects_by_label(scenario: ControllerScenario) -> Object:
    for name in ("one", "two"):
        scenario.create("persistentvolumes", volume(scenario, name))
        available(scenario, name)
    chosen = {"matchExpressions": [{"key": "is", "operator": "In", "values": ["two"]}]}
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace, selector=chosen))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Bound")
    return seen(scenario)


def has_one_reserved(scenario: ControllerScenario) -> Object:
    reserved = {"namespace": scenario.namespace, "name": "c"}
    scenario.create("persistentvolumes", volume(scenario, "v", "9Gi", claimRef=reserved))
    scenario.create("persistentvolumes", volume(scenario, "w"))
    for name in ("v", "w"):
        available(scenario, name)
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Bound")
    return seen(scenario)


def has_no_class(scenario: ControllerScenario) -> Object:
    scenario.create("persistentvolumeclaims", claim(storageClassName=""))
    scenario.event("FailedBinding")
    return seen(scenario)


def has_an_unknown_class(scenario: ControllerScenario) -> Object:
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.event("ProvisioningFailed")
    return seen(scenario)


def storage_class(scenario: ControllerScenario, **fields: Any) -> None:
    fields = {"provisioner": "example.com/none", **fields}
    meta = {"name": scenario.namespace}
    scenario.create("storageclasses", {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, **fields})


def waits_for_a_provisioner(scenario: ControllerScenario) -> Object:
    storage_class(scenario)
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.event("ExternalProvisioning")
    return seen(scenario)


def has_no_provisioner(scenario: ControllerScenario) -> Object:
    storage_class(scenario, provisioner="kubernetes.io/no-provisioner")
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.event("ProvisioningFailed")
    return seen(scenario)


def waits_for_its_first_consumer(scenario: ControllerScenario) -> Object:
    storage_class(scenario, volumeBindingMode="WaitForFirstConsumer")
    held = volume(scenario, "v")
    scenario.create("persistentvolumes", held)
    scenario.becomes(lambda: phase(scenario, "persistentvolumes", held["metadata"]["name"]) == "Available")
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.event("WaitForFirstConsumer")
    return seen(scenario)


def is_released(scenario: ControllerScenario) -> Object:
    held = volume(scenario, "v")
    scenario.create("persistentvolumes", held)
    available(scenario, "v")
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Bound")
    scenario.delete("persistentvolumeclaims", "c")
    scenario.becomes(lambda: scenario.gone("persistentvolumeclaims", "c"))
    scenario.becomes(lambda: phase(scenario, "persistentvolumes", held["metadata"]["name"]) == "Released")
    return seen(scenario)


def is_kept_while_it_is_used(scenario: ControllerScenario) -> Object:
    held = volume(scenario, "v")
    scenario.create("persistentvolumes", held)
    available(scenario, "v")
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Bound")
    used = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": used}
    scenario.create("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    scenario.kubelet.run("p")
    scenario.delete("persistentvolumeclaims", "c")
    scenario.delete("persistentvolumes", held["metadata"]["name"])
    both = scenario.plain(
        [scenario.get("persistentvolumeclaims", "c")["metadata"], *(each["metadata"] for each in volumes(scenario))]
    )
    scenario.delete("pods", "p")
    scenario.kubelet.gone("p")
    scenario.becomes(lambda: scenario.gone("persistentvolumeclaims", "c") and not volumes(scenario))
    return {"used": both}


def loses_its_volume(scenario: ControllerScenario) -> Object:
    held = volume(scenario, "v")
    name = held["metadata"]["name"]
    scenario.create("persistentvolumes", held)
    available(scenario, "v")
    scenario.create("persistentvolumeclaims", claim(storageClassName=scenario.namespace))
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Bound")
    scenario.delete("persistentvolumes", name)
    scenario.patch("persistentvolumes", name, {"metadata": {"finalizers": None}})
    scenario.becomes(lambda: phase(scenario, "persistentvolumeclaims", "c") == "Lost")
    scenario.event("ClaimLost")
    return seen(scenario)


SCENARIOS = (
    gets_the_smallest_that_fits, is_bound_by_name, asks_for_one_that_does_not_fit, asks_for_anothers, selects_by_label,
    has_one_reserved, has_no_class, has_an_unknown_class, waits_for_a_provisioner, has_no_provisioner,
    waits_for_its_first_consumer, is_released, is_kept_while_it_is_used, loses_its_volume,
)  # fmt: skip
