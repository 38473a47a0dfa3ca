"""Nodes."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, name_validation, resource_lists
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses
from traincrew.embedded.apiserver.registry.builtin.core.pods.scheduling import EFFECTS
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext


def _default(obj: Object) -> None:
    spec, status = obj["spec"], obj["status"]
    if first := spec.get("podCIDR"):
        if (spec.get("podCIDRs") or [""])[0] != first:
            spec["podCIDRs"] = [first]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if not status.get("allocatable") and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    obj["spec"].pop("configSource", None)
    obj["status"].pop("config", None)


def _prepare_update(new: Object, old: Object) -> None:
    new["status"] = old.get("status") or {}
    new["spec"].pop("configSource", None)


def _validate(obj: Object, errors: Errors) -> None:
    _check_taints(obj["spec"].get("taints") or (), errors)
    _check_resources(obj, errors)
    ranges = obj["spec"].get("podCIDRs") or []
    for index, each in enumerate(ranges):
        ip_addresses.check_range(each, f"spec.podCIDRs[{index}]", errors)


def _check_taints(taints: list[Object] | tuple[Object, ...], errors: Errors) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at, key, effect, value = (
            f"metadata.taints[{index}]",
            taint.get("key") or "",
            taint.get("effect") or "",
            taint.get("value") or "",
        )
        errors += [field_errors.invalid(f"{at}.key", key, error) for error in name_validation.qualified_name(key)]
        if messages := name_validation.label_value(value):
            errors.append(field_errors.invalid(f"{at}.value", value, ";".join(messages)))
        if not effect:
            errors.append(field_errors.required(f"{at}.effect"))
        elif effect not in EFFECTS:
            errors.append(field_errors.not_supported(f"{at}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            quoted = go_format.quote
            shown = f"Key:{quoted(key)}, Value:{quoted(value)}, Effect:{quoted(effect)}, TimeAdded:<nil>"
            errors.append(
                field_errors.duplicate_formatted(at, f"core.Taint{{{shown}}}", "taints must be unique by key and effect pair")
            )
        seen.add((key, effect))


def _check_resources(obj: Object, errors: Errors) -> None:
    for side in ("capacity", "allocatable"):
        for name, value in (obj["status"].get(side) or {}).items():
            resource_lists.validate_value(name, value, f"status.{side}.{name}", errors)


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    _check_resources(new, errors)
    seen: list[Object] = []
    for index, address in enumerate(new["status"].get("addresses") or ()):
        if address in seen:
            errors.append(field_errors.duplicate(f"status.addresses[{index}]", address))
        seen.append(address)
    for field, label in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        before = old["spec"].get(field)
        if before and new["spec"].get(field) != before:
            detail = f'node updates may not change {label} except from "" to valid'
            errors.append(field_errors.forbidden(f"spec.{field}", detail))
    _check_taints(new["spec"].get("taints") or (), errors)


NODE = Strategy(
    kind="Node",
    namespaced=False,
    defaults=_default,
    create_preparation=_prepare_create,
    update_preparation=_prepare_update,
    validation=_validate,
    update_validation=_validate_update,
    status_validation=_validate_update,
    update_validation_steps=("whole", "meta", "compare"),
)
