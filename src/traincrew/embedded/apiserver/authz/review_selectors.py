"""The selectors of an access review. RBAC ignores them, but they must be valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from traincrew.apimachinery import label_selectors, selectors
from traincrew.apimachinery.field_errors import FieldError, forbidden, invalid, required


def errors(spec: Mapping[str, Any]) -> list[FieldError]:
    """Field errors for a 422."""
    requested = spec.get("resourceAttributes") or {}
    collected: list[FieldError] = []
    for name, check in (("fieldSelector", _field_requirement), ("labelSelector", _label_requirement)):
        selector, path = requested.get(name), f"spec.resourceAttributes.{name}"
        if selector is None:
            continue
        collected += _shape(selector, path)
        for index, requirement in enumerate(selector.get("requirements") or ()):
            collected += check(requirement, f"{path}.requirements[{index}]")
    return collected


def ignored(requested: Mapping[str, Any]) -> str:
    """The selectors that cannot be parsed, for the evaluationError of a review."""
    messages = []
    for name, readable in (("fieldSelector", _readable_fields), ("labelSelector", _readable_labels)):
        selector = requested.get(name)
        outcomes = readable(selector) if selector else []
        if not all(outcomes):
            partially = "partially " if any(outcomes) else ""
            messages.append(f"spec.resourceAttributes.{name} {partially}ignored due to parse error")
    return "; ".join(messages)


def _shape(selector: Mapping[str, Any], path: str) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        return [invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")]
    if not raw and not requirements:
        return [required(f"{path}.requirements", f"when {path} is specified, requirements or rawSelector is required")]
    return []


def _field_requirement(requirement: Mapping[str, Any], path: str) -> list[FieldError]:
    collected = [] if requirement.get("key") else [required(f"{path}.key", "must be specified")]
    return collected + _values(requirement, path)


def _label_requirement(requirement: Mapping[str, Any], path: str) -> list[FieldError]:
    collected: list[FieldError] = []
    label_selectors.validate_requirement(dict(requirement), path, collected, any_operator=True)
    return collected


def _values(requirement: Mapping[str, Any], path: str) -> list[FieldError]:
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in ("In", "NotIn") and not values:
        return [required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist") and values:
        return [forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    return []


def _readable_fields(selector: Mapping[str, Any]) -> list[bool]:
    if requirements := selector.get("requirements"):
        return [each.get("operator") in ("In", "NotIn") and len(each.get("values") or ()) == 1 for each in requirements]
    return [_parses(lambda: selectors.parse_fields(selector["rawSelector"], str))]


def _readable_labels(selector: Mapping[str, Any]) -> list[bool]:
    if requirements := selector.get("requirements"):
        return [each.get("operator") in ("In", "NotIn", "Exists", "DoesNotExist") for each in requirements]
    return [_parses(lambda: selectors.parse_labels(selector["rawSelector"]))]


def _parses(parse: Callable[[], object]) -> bool:
    try:
        parse()
    except selectors.SelectorError:
        return False
    return True
