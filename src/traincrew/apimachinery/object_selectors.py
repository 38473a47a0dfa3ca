"""Label selectors within objects: whether they are well formed, and whether they match."""

from __future__ import annotations

from collections.abc import Mapping

from traincrew.apimachinery import field_errors, name_validation, object_metadata
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Object

_WITH_VALUES = ("In", "NotIn")
_WITHOUT = ("Exists", "DoesNotExist")


def check(selector: Object | None, path: str, errors: list[FieldError]) -> None:
    if not selector:
        return
    object_metadata.check_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels", errors)
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        _check_requirement(requirement, f"{path}.matchExpressions[{index}]", errors)


def _check_requirement(requirement: Object, path: str, errors: list[FieldError]) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in _WITH_VALUES:
        if not values:
            errors.append(field_errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in _WITHOUT:
        if values:
            errors.append(
                field_errors.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            )
    else:
        errors.append(field_errors.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.get("key") or ""
    errors += [field_errors.invalid(f"{path}.key", key, fault) for fault in name_validation.qualified(key)]
    for index, value in enumerate(values):
        errors += [field_errors.invalid(f"{path}.values[{index}]", value, fault) for fault in name_validation.label_value(value)]


def is_well_formed(selector: Object) -> bool:
    errors: list[FieldError] = []
    check(selector, "", errors)
    return not errors


def is_empty(selector: Object | None) -> bool:
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def matches(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """A selector that is absent matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_meets(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def _meets(requirement: Object, labels: Mapping[str, str]) -> bool:
    operator, key, values = requirement.get("operator"), requirement.get("key") or "", requirement.get("values") or ()
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    return (key in labels) is (operator == "Exists")
