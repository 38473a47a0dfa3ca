"""The choice of a volume for a claim."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery import label_selectors, quantities
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.claims import storage_objects


def best(claim: Object, volumes: Iterable[Object], delayed: bool) -> Object | None:
    """A volume reserved for the claim, else the smallest that is large enough. A delayed claim gets only a reserved volume."""
    fitting = [each for each in volumes if _could_hold(each, claim)]
    for volume in fitting:
        if storage_objects.reserved_for(volume, claim):
            return volume
    free = [each for each in fitting if not delayed and _is_free(each, claim)]
    return min(free, key=_size, default=None)


def may_bind(volume: Object, claim: Object) -> bool:
    """Whether a change of the volume may allow to bind the claim to it."""
    return bool(claim["spec"].get("volumeName") == volume["metadata"]["name"] or storage_objects.phase(volume) == "Available")


def _could_hold(volume: Object, claim: Object) -> bool:
    if volume["spec"].get("claimRef") and not storage_objects.reserved_for(volume, claim):
        return False
    return (
        "deletionTimestamp" not in volume["metadata"]
        and _capacity(volume) >= requested(claim)
        and _mode(volume) == _mode(claim)
        and _modes(claim) <= _modes(volume)
    )


def _is_free(volume: Object, claim: Object) -> bool:
    return (
        storage_objects.phase(volume) == "Available"
        and label_selectors.matches(claim["spec"].get("selector") or {}, volume["metadata"].get("labels") or {})
        and (storage_objects.class_of(volume) or "") == (storage_objects.class_of(claim) or "")
    )


def _size(volume: Object) -> tuple[int, int, str]:
    """Sort key: volumes with the fewest access modes come first, then those with the smallest capacity."""
    return len(_modes(volume)), _capacity(volume), volume["metadata"]["name"]


def mismatch(volume: Object, claim: Object) -> str:
    """Why the volume that the claim names cannot be bound. Empty: it can."""
    name = volume["metadata"]["name"]
    if "deletionTimestamp" in volume["metadata"]:
        return f'the volume is marked for deletion "{name}"'
    if _capacity(volume) < requested(claim):
        return "requested PV is too small"
    if (storage_objects.class_of(volume) or "") != (storage_objects.class_of(claim) or ""):
        return "storageClassName does not match"
    if _mode(volume) != _mode(claim):
        return "incompatible volumeMode"
    return "" if _modes(claim) <= _modes(volume) else "incompatible accessMode"


def requested(claim: Object) -> int:
    return quantities.nanos(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", 0))


def _capacity(volume: Object) -> int:
    return quantities.nanos((volume["spec"].get("capacity") or {}).get("storage", 0))


def _mode(obj: Object) -> str:
    return obj["spec"].get("volumeMode") or "Filesystem"


def _modes(obj: Object) -> set[str]:
    return set(obj["spec"].get("accessModes") or ())
