"""Priority classes."""

from __future__ import annotations

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_PREEMPTION = ("PreemptLowerPriority", "Never")


def _default(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    obj["metadata"]["generation"] = 1


def _validate(obj: Object, errors: Errors) -> None:
    name, value = obj["metadata"].get("name") or "", obj.get("value") or 0
    if name.startswith("system-"):
        if error := _not_known(name, value, bool(obj.get("globalDefault"))):
            message = f"priority class names with 'system-' prefix are reserved for system use only. error: {error}"
            errors.append(field_errors.forbidden("metadata.name", message))
    elif value > _HIGHEST:
        errors.append(field_errors.forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    if (policy := obj.get("preemptionPolicy")) not in (None, *_PREEMPTION):
        errors.append(field_errors.not_supported("preemptionPolicy", policy, _PREEMPTION))


def _not_known(name: str, value: int, everywhere: bool) -> str:
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if everywhere else ""


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    if new.get("value") != old.get("value"):
        errors.append(field_errors.forbidden("value", "may not be changed in an update."))
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        errors.append(field_errors.invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE))


PRIORITY_CLASS = Strategy(
    kind="PriorityClass",
    namespaced=False,
    defaults=_default,
    create_preparation=_prepare_create,
    validation=_validate,
    update_validation=_validate_update,
    update_validation_steps=("meta", "compare"),
)
