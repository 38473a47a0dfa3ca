"""Policies that decide when a job fails or succeeds: pod failure policy, success policy, pod replacement policy."""

from __future__ import annotations

from traincrew.apimachinery import completion_indexes, field_errors, go_format, name_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.object_meta_validation import MUST_NOT_BE_NEGATIVE
from traincrew.apimachinery.unstructured import Object

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_MAX_RULES = 20
"""And conditions of a rule."""
_MAX_VALUES = 255


def check(spec: Object, path: str, errors: list[FieldError]) -> None:
    if "podFailurePolicy" in spec:
        _check_failures(spec, f"{path}.podFailurePolicy.rules", errors)
    if "successPolicy" in spec:
        if spec.get("completionMode") != "Indexed":
            errors.append(
                field_errors.invalid(f"{path}.successPolicy", spec["successPolicy"], "requires indexed completion mode")
            )
        else:
            _check_successes(spec, f"{path}.successPolicy.rules", errors)
    allowed = ("Failed",) if "podFailurePolicy" in spec else _REPLACEMENTS
    if (policy := spec.get("podReplacementPolicy")) not in (None, *allowed):
        errors.append(field_errors.not_supported(f"{path}.podReplacementPolicy", policy, allowed))


def _too_many(path: str, count: int, most: int, errors: list[FieldError]) -> None:
    if count > most:
        errors.append(FieldError(field_errors.TOO_MANY, path, f"Too many: {count}: must have at most {most} items"))


def _check_failures(spec: Object, path: str, errors: list[FieldError]) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    _too_many(path, len(rules), _MAX_RULES, errors)
    pod = spec["template"]["spec"]
    container_names = {each.get("name") for each in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))}
    for index, rule in enumerate(rules):
        at, action = f"{path}[{index}]", rule.get("action") or ""
        if not action:
            errors.append(field_errors.required(f"{at}.action", f"valid values: {go_format.quote_list(_ACTIONS)}"))
        elif action == "FailIndex":
            if "backoffLimitPerIndex" not in spec:
                errors.append(field_errors.invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set"))
        elif action not in _ACTIONS:
            errors.append(field_errors.not_supported(f"{at}.action", action, _ACTIONS))
        _check_rule(rule, container_names, at, errors)


def _check_rule(rule: Object, container_names: set[str | None], path: str, errors: list[FieldError]) -> None:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        _check_codes(codes, container_names, f"{path}.onExitCodes", errors)
    _too_many(f"{path}.onPodConditions", len(conditions), _MAX_RULES, errors)
    for index, pattern in enumerate(conditions):
        at, kind, status = f"{path}.onPodConditions[{index}]", pattern.get("type") or "", pattern.get("status") or ""
        errors += [field_errors.invalid(f"{at}.type", kind, error) for error in name_validation.qualified_name(kind)]
        if status not in _STATUSES:
            errors.append(field_errors.not_supported(f"{at}.status", status, _STATUSES))
    if codes is not None and conditions:
        errors.append(
            field_errors.invalid_without_value(path, "specifying both OnExitCodes and OnPodConditions is not supported")
        )
    if codes is None and not conditions:
        errors.append(field_errors.invalid_without_value(path, "specifying one of OnExitCodes and OnPodConditions is required"))


def _check_codes(codes: Object, container_names: set[str | None], path: str, errors: list[FieldError]) -> None:
    operator, values, name = codes.get("operator") or "", codes.get("values") or [], codes.get("containerName")
    if not operator:
        errors.append(field_errors.required(f"{path}.operator", f"valid values: {go_format.quote_list(('In', 'NotIn'))}"))
    elif operator not in ("In", "NotIn"):
        errors.append(field_errors.not_supported(f"{path}.operator", operator, ("In", "NotIn")))
    if name is not None and name not in container_names:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(field_errors.invalid(f"{path}.containerName", name, detail))
    shown = f"[]int32{{{', '.join(map(str, values))}}}" if values else "[]int32{}"
    if not values:
        errors.append(field_errors.invalid_formatted(f"{path}.values", shown, "at least one value is required"))
    _too_many(f"{path}.values", len(values), _MAX_VALUES, errors)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(field_errors.invalid(f"{path}.values[{index}]", 0, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(field_errors.duplicate(f"{path}.values[{index}]", value))
        seen.add(value)
    if values != sorted(values):
        errors.append(field_errors.invalid_formatted(f"{path}.values", shown, "must be ordered"))


def _check_successes(spec: Object, path: str, errors: list[FieldError]) -> None:
    rules, total = spec["successPolicy"].get("rules") or (), spec.get("completions") or 0
    if not rules:
        errors.append(field_errors.required(path, "at least one rules must be specified when the successPolicy is specified"))
    _too_many(path, len(rules), _MAX_RULES, errors)
    for index, rule in enumerate(rules):
        _check_success(rule, total, f"{path}[{index}]", errors)


def _check_success(rule: Object, total: int, path: str, errors: list[FieldError]) -> None:
    count, listed, most = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if count is None and listed is None:
        errors.append(field_errors.required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    if listed is not None:
        try:
            most = completion_indexes.validate(listed, total)
        except ValueError as error:
            at = f"{path}.succeededIndexes"
            errors.append(field_errors.invalid(at, listed, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return
    at, detail = f"{path}.succeededCount", "must be less than or equal to"
    if count < 0:
        errors.append(field_errors.invalid(at, count, MUST_NOT_BE_NEGATIVE))
    if count > total:
        errors.append(field_errors.invalid(at, count, f"{detail} {total} (the number of specified completions)"))
    if listed is not None and count > most:
        message = f"{detail} {most} (the number of indexes in the specified succeededIndexes field)"
        errors.append(field_errors.invalid(at, count, message))
