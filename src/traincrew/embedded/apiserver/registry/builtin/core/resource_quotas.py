"""Resource quotas."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, resource_lists
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

_SCOPES = ("BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating")
_COMPUTE = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_PAIRS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def _validate(obj: Object, errors: Errors) -> None:
    hard = obj["spec"].get("hard") or {}
    _check_amounts(hard, "spec.hard", errors)
    scopes = obj["spec"].get("scopes") or []
    shown = go_format.string_slice(scopes, "core.ResourceQuotaScope")
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(field_errors.invalid_formatted("spec.scopes", shown, "unsupported scope"))
        for name in sorted(hard):
            if scope in _SCOPES and resource_lists.is_standard_quota(name) and not _fits(scope, name):
                errors.append(field_errors.invalid_formatted("spec.scopes", shown, "unsupported scope applied to resource"))
    for one, other in _PAIRS:
        if one in scopes and other in scopes:
            errors.append(field_errors.invalid_formatted("spec.scopes", shown, "conflicting scopes"))
    _check_scope_selector(obj["spec"].get("scopeSelector") or {}, errors)


def _fits(scope: str, name: str) -> bool:
    return name == "pods" or (scope != "BestEffort" and name in _COMPUTE)


def _check_scope_selector(selector: Object, errors: Errors) -> None:
    at = "spec.scopeSelector.matchExpressions"
    for requirement in selector.get("matchExpressions") or ():
        scope, operator, values = requirement.get("scopeName"), requirement.get("operator") or "", requirement.get("values") or []
        if scope not in _SCOPES:
            errors.append(field_errors.invalid(f"{at}.scopeName", scope, "unsupported scope"))
        if operator in ("In", "NotIn"):
            if not values:
                message = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(field_errors.required(f"{at}.values", message))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                message = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(field_errors.invalid_formatted(f"{at}.values", go_format.string_slice(values), message))
        else:
            errors.append(field_errors.invalid(f"{at}.operator", operator, "not a valid selector operator"))


def _check_amounts(amounts: dict[str, str], path: str, errors: Errors) -> None:
    for name, value in amounts.items():
        resource_lists.validate_quota_name(name, f"{path}[{name}]", errors)
        resource_lists.validate_value(name, value, f"{path}[{name}]", errors)


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    scopes = new["spec"].get("scopes") or []
    if {*scopes} != {*(old["spec"].get("scopes") or ())}:
        errors.append(
            field_errors.invalid_formatted("spec.scopes", go_format.string_slice(scopes, "core.ResourceQuotaScope"), IMMUTABLE)
        )


def _validate_status(new: Object, _old: Object, errors: Errors) -> None:
    for side in ("hard", "used"):
        _check_amounts(new["status"].get(side) or {}, f"status.{side}", errors)


RESOURCE_QUOTA = Strategy(
    kind="ResourceQuota",
    has_status=True,
    validation=_validate,
    update_validation=_validate_update,
    status_validation=_validate_status,
    update_validation_steps=("meta", "spec", "compare"),
)
