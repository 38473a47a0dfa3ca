"""Limit ranges."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, quantities, resource_lists
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")


def _default(obj: Object) -> None:
    for limit in obj["spec"].get("limits") or ():
        if limit.get("type") == "Container":
            _default_limit(limit)


def _default_limit(limit: Object) -> None:
    limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
    for field, value in (("default", limits), ("defaultRequest", requests)):
        if value:
            limit[field] = value


def _validate(obj: Object, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, limit in enumerate(obj["spec"].get("limits") or ()):
        at, kind = f"spec.limits[{index}]", limit.get("type") or ""
        _check_type(kind, f"{at}.type", errors)
        if kind in seen:
            errors.append(field_errors.duplicate(f"{at}.type", kind))
        seen.add(kind)
        _check_names(limit, kind, at, errors)
        for name in dict.fromkeys(name for side in _SIDES for name in limit.get(side) or ()):
            _check_amounts(limit, name, at, errors)


_SIDES = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _check_type(kind: str, path: str, errors: list[FieldError]) -> None:
    if messages := name_validation.qualified_name(kind):
        errors += [field_errors.invalid(path, kind, error) for error in messages]
    elif "/" not in kind and kind not in _TYPES:
        errors.append(field_errors.invalid(path, kind, "must be a standard limit type or fully qualified"))


def _check_names(limit: Object, kind: str, path: str, errors: list[FieldError]) -> None:
    rule = resource_lists.validate_container_name if kind in ("Pod", "Container") else resource_lists.validate_name
    for side in _SIDES:
        if kind == "Pod" and side in ("default", "defaultRequest"):
            if limit.get(side):
                errors.append(field_errors.forbidden(f"{path}.{side}", "may not be specified when `type` is 'Pod'"))
            continue
        for name in limit.get(side) or ():
            rule(name, f"{path}.{side}[{name}]", errors)
    if kind == "PersistentVolumeClaim" and "storage" not in {*(limit.get("min") or ()), *(limit.get("max") or ())}:
        detail = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(field_errors.required(f"{path}.limits", detail))


def _check_amounts(limit: Object, name: str, path: str, errors: list[FieldError]) -> None:
    amounts = {side: (limit.get(side) or {}).get(name) for side in _SIDES}
    for side, low, high, detail in _COMPARISONS:
        less, more = amounts[low], amounts[high]
        if less is not None and more is not None and quantities.nanos(less) > quantities.nanos(more):
            shown = quantities.go_syntax(amounts[side] or "0")
            message = f"{detail[0]} value {less} is greater than {detail[1]} value {more}"
            errors.append(FieldError(field_errors.INVALID, f"{path}.{side}[{name}]", f"Invalid value: {shown}: {message}"))
    ratio = amounts["maxLimitRequestRatio"]
    if ratio is not None and quantities.nanos(ratio) < 10**9:
        at, shown = f"{path}.maxLimitRequestRatio[{name}]", quantities.go_syntax(ratio)
        errors.append(FieldError(field_errors.INVALID, at, f"Invalid value: {shown}: ratio {ratio} is less than 1"))


_COMPARISONS = (
    ("min", "min", "max", ("min", "max")),
    ("defaultRequest", "min", "defaultRequest", ("min", "default request")),
    ("defaultRequest", "defaultRequest", "max", ("default request", "max")),
    ("defaultRequest", "defaultRequest", "default", ("default request", "default limit")),
    ("default", "min", "default", ("min", "default")),
    ("default", "default", "max", ("default", "max")),
)


def _prepare_create(obj: Object, context: WriteContext) -> None:
    if not obj["metadata"].get("name"):
        obj["metadata"]["name"] = context.uid


LIMIT_RANGE = Strategy(
    kind="LimitRange",
    allow_create_on_update=True,
    defaults=_default,
    create_preparation=_prepare_create,
    validation=_validate,
    update_validation_steps=("whole",),
)
