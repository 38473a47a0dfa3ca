"""Storage classes."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

_BINDING = ("Immediate", "WaitForFirstConsumer")


def _default(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _validate(obj: Object, errors: Errors) -> None:
    provisioner = obj.get("provisioner") or ""
    if not provisioner:
        errors.append(field_errors.required("provisioner"))
    else:
        errors += [
            field_errors.invalid("provisioner", provisioner.lower(), error)
            for error in name_validation.qualified_name(provisioner.lower())
        ]
    if "" in (obj.get("parameters") or {}):
        errors.append(field_errors.invalid("parameters", "", "field can not be empty."))
    if obj["reclaimPolicy"] not in ("Delete", "Retain"):
        errors.append(field_errors.not_supported("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain")))
    if obj["volumeBindingMode"] not in _BINDING:
        errors.append(field_errors.not_supported("volumeBindingMode", obj["volumeBindingMode"], _BINDING))


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if new.get(field) != old.get(field):
            errors.append(field_errors.forbidden(field, f"updates to {field} are forbidden."))
    if new["volumeBindingMode"] != old["volumeBindingMode"]:
        errors.append(field_errors.invalid("volumeBindingMode", new["volumeBindingMode"], IMMUTABLE))


STORAGE_CLASS = Strategy(
    kind="StorageClass",
    namespaced=False,
    defaults=_default,
    validation=_validate,
    update_validation=_validate_update,
    update_validation_steps=("meta", "compare"),
)
