"""Annotations of claims and volumes, and accessors for these objects."""

from __future__ import annotations

from collections.abc import Iterable

from traincrew.apimachinery.unstructured import Object

COMPLETED = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED = "pv.kubernetes.io/provisioned-by"
PROVISIONERS = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def annotations_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def class_of(obj: Object) -> str | None:
    """The storage class of a claim or a volume; None: not set, which differs from the empty name."""
    name: str | None = annotations_of(obj).get(_OLD_CLASS, obj["spec"].get("storageClassName"))
    return name


def default_class(classes: Iterable[Object]) -> Object | None:
    """The newest of the classes that are marked as default."""
    marked = [each for each in classes if any(annotations_of(each).get(name) == "true" for name in _DEFAULT)]
    by_name = sorted(marked, key=lambda each: str(each["metadata"]["name"]))
    return max(by_name, key=lambda each: str(each["metadata"].get("creationTimestamp", "")), default=None)


def reserved_for(volume: Object, claim: Object) -> bool:
    """Whether the volume names the claim, with or without a UID."""
    named, meta = volume["spec"].get("claimRef"), claim["metadata"]
    if not named or (named.get("namespace"), named.get("name")) != (meta["namespace"], meta["name"]):
        return False
    return named.get("uid", "") in ("", meta["uid"])


def claim_key(volume: Object) -> tuple[str, str] | None:
    """Namespace and name of the claim that the volume names. None: it names none, or the reference is not complete, which the
    API server accepts."""
    named = volume["spec"].get("claimRef") or {}
    return (named["namespace"], named["name"]) if named.get("namespace") and named.get("name") else None


def phase(obj: Object) -> str:
    value: str = (obj.get("status") or {}).get("phase", "")
    return value
