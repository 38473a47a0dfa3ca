"""Priority classes, disruption budgets, limit ranges and resource quotas."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, label_selectors, name_validation, resource_lists
from traincrew.apimachinery.object_metadata import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import limit_ranges
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.workloads import check_at_most_all, check_number_or_percent, not_negative
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_PREEMPTION = ("PreemptLowerPriority", "Never")
_SCOPES = ("BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating")
_COMPUTE = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_PAIRS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def _default_priority(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _prepare_create_priority(obj: Object, _context: WriteContext) -> None:
    obj["metadata"]["generation"] = 1


def _validate_priority(obj: Object, errors: Errors) -> None:
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


def _validate_update_priority(new: Object, old: Object, errors: Errors) -> None:
    if new.get("value") != old.get("value"):
        errors.append(field_errors.forbidden("value", "may not be changed in an update."))
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        errors.append(field_errors.invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE))


def _prepare_create_budget(obj: Object, _context: WriteContext) -> None:
    obj["status"] = dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0)


def _validate_budget(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        errors.append(field_errors.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            check_number_or_percent(spec[field], f"spec.{field}", errors)
            check_at_most_all(spec[field], f"spec.{field}", errors)
    label_selectors.validate(spec.get("selector"), "spec.selector", errors)
    policy, known = spec.get("unhealthyPodEvictionPolicy"), ("AlwaysAllow", "IfHealthyBudget")
    if policy not in (None, *known):
        errors.append(field_errors.not_supported("spec.unhealthyPodEvictionPolicy", policy, known))


def _validate_update_budget_status(new: Object, _old: Object, errors: Errors) -> None:
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    not_negative(new["status"], counts, "status", errors)


def _validate_quota(obj: Object, errors: Errors) -> None:
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


def _validate_update_quota(new: Object, old: Object, errors: Errors) -> None:
    scopes = new["spec"].get("scopes") or []
    if {*scopes} != {*(old["spec"].get("scopes") or ())}:
        errors.append(
            field_errors.invalid_formatted("spec.scopes", go_format.string_slice(scopes, "core.ResourceQuotaScope"), IMMUTABLE)
        )


def _validate_update_quota_status(new: Object, _old: Object, errors: Errors) -> None:
    for side in ("hard", "used"):
        _check_amounts(new["status"].get(side) or {}, f"status.{side}", errors)


def _prepare_create_range(obj: Object, context: WriteContext) -> None:
    if not obj["metadata"].get("name"):
        obj["metadata"]["name"] = context.uid


PRIORITY_CLASS = Strategy(
    kind="PriorityClass",
    namespaced=False,
    defaults=_default_priority,
    create_preparation=_prepare_create_priority,
    validation=_validate_priority,
    update_validation=_validate_update_priority,
    update_validation_steps=("meta", "compare"),
)
DISRUPTION_BUDGET = Strategy(
    kind="PodDisruptionBudget",
    allow_unconditional_update=False,
    naming=name_validation.path_segment,
    standard_finalizers=False,
    has_status=True,
    has_generation=True,
    create_preparation=_prepare_create_budget,
    validation=_validate_budget,
    status_validation=_validate_update_budget_status,
    metadata_first=False,
    update_validation_steps=("spec",),
    status_validation_steps=("compare",),
)
RESOURCE_QUOTA = Strategy(
    kind="ResourceQuota",
    has_status=True,
    validation=_validate_quota,
    update_validation=_validate_update_quota,
    status_validation=_validate_update_quota_status,
    update_validation_steps=("meta", "spec", "compare"),
)
LIMIT_RANGE = Strategy(
    kind="LimitRange",
    allow_create_on_update=True,
    defaults=limit_ranges.default,
    create_preparation=_prepare_create_range,
    validation=limit_ranges.check,
    update_validation_steps=("whole",),
)
