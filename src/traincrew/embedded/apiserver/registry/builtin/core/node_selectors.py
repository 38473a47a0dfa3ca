"""Selectors of nodes, in affinities of pods and of persistent volumes."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object


def check(selector: Object, path: str, errors: list[FieldError]) -> None:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        errors.append(field_errors.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term"))
    for index, term in enumerate(terms):
        check_term(term, f"{path}.nodeSelectorTerms[{index}]", errors)


def check_term(term: Object, path: str, errors: list[FieldError]) -> None:
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        _check_expression(requirement, f"{path}.matchExpressions[{index}]", errors)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        _check_field(requirement, f"{path}.matchFields[{index}]", errors)


def _check_expression(requirement: Object, path: str, errors: list[FieldError]) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(field_errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(
                field_errors.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            )
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(
                field_errors.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
            )
    else:
        errors.append(field_errors.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.get("key") or ""
    errors += [field_errors.invalid(f"{path}.key", key, error) for error in name_validation.qualified_name(key)]


def _check_field(requirement: Object, path: str, errors: list[FieldError]) -> None:
    operator, values, key = requirement.get("operator") or "", requirement.get("values") or (), requirement.get("key") or ""
    if operator not in ("In", "NotIn"):
        errors.append(field_errors.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        message = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(field_errors.required(f"{path}.values", message))
    if key != "metadata.name":
        errors.append(field_errors.invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for index, value in enumerate(values):
        errors += [
            field_errors.invalid(f"{path}.values[{index}]", value, error) for error in name_validation.dns_subdomain(value)
        ]
