"""What the kinds share that run replicas of a pod template."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import field_errors, go_format, label_selectors, name_validation
from traincrew.apimachinery.object_meta_validation import IMMUTABLE, MUST_NOT_BE_NEGATIVE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core.pods import disabled_fields, specs, warnings
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

REVISION_HISTORY_LIMIT = 10
TEMPLATE = "spec.template"


def default_rolling_update(spec: Object, field: str, unavailable: Any, surge: Any) -> None:
    strategy = spec[field]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", unavailable)
        rolling.setdefault("maxSurge", surge)


def create_preparation(status: Object) -> Any:
    def create(obj: Object, _context: WriteContext) -> None:
        disabled_fields.drop(obj["spec"]["template"]["spec"])
        obj["status"] = dict(status)

    return create


def not_negative(spec: Object, names_: tuple[str, ...], path: str, errors: Errors) -> None:
    for field in names_:
        if (value := spec.get(field) or 0) < 0:
            errors.append(field_errors.invalid(f"{path}.{field}", value, MUST_NOT_BE_NEGATIVE))


def check_template(obj: Object, kind: str, errors: Errors) -> None:
    template, selector = obj["spec"]["template"], obj["spec"].get("selector")
    if selector is not None and not label_selectors.is_valid(selector):
        errors.append(field_errors.invalid("spec.selector", selector, "invalid label selector"))
        return
    check_selected(selector, template, errors)
    specs.check_template(template, TEMPLATE, errors)
    check_policies(template["spec"], kind, errors)


def check_selected(selector: Object | None, template: Object, errors: Errors) -> None:
    """The selector must match the labels of the template."""
    labels = (template.get("metadata") or {}).get("labels")
    if not label_selectors.matches(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        errors.append(field_errors.invalid_formatted(f"{TEMPLATE}.metadata.labels", go_format.string_map(labels), detail))


def check_policies(spec: Object, kind: str, errors: Errors) -> None:
    if spec.get("restartPolicy") != "Always":
        errors.append(field_errors.not_supported(f"{TEMPLATE}.spec.restartPolicy", spec.get("restartPolicy"), ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(field_errors.forbidden(f"{TEMPLATE}.spec.activeDeadlineSeconds", detail))


def check_selector(selector: Object | None, kind: str, errors: Errors) -> None:
    if selector is None:
        errors.append(field_errors.required("spec.selector"))
        return
    label_selectors.validate(selector, "spec.selector", errors)
    if label_selectors.is_empty(selector):
        shown = "v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}"
        errors.append(field_errors.invalid_formatted("spec.selector", shown, f"empty selector is invalid for {kind}"))


def check_number_or_percent(value: Any, path: str, errors: Errors) -> None:
    if isinstance(value, str):
        shown = f'intstr.IntOrString{{Type:1, IntVal:0, StrVal:"{value}"}}'
        errors += [field_errors.invalid_formatted(path, shown, error) for error in name_validation.percent(value)]
    elif value < 0:
        errors.append(field_errors.invalid(path, value, MUST_NOT_BE_NEGATIVE))


def amount(value: Any) -> int:
    if isinstance(value, int):
        return value
    return int(value[:-1]) if not name_validation.percent(value) else 0


def check_at_most_all(value: Any, path: str, errors: Errors) -> None:
    if isinstance(value, str) and amount(value) > 100:
        shown = f'intstr.IntOrString{{Type:1, IntVal:0, StrVal:"{value}"}}'
        errors.append(field_errors.invalid_formatted(path, shown, "must not be greater than 100%"))


def check_same_selector(new: Object, old: Object, errors: Errors) -> None:
    if new["spec"].get("selector") != old["spec"].get("selector"):
        errors.append(
            field_errors.invalid_formatted("spec.selector", go_format.label_selector(new["spec"].get("selector")), IMMUTABLE)
        )


def check_counts(*names_: str) -> Any:
    def compare(new: Object, _old: Object, errors: Errors) -> None:
        status = new["status"]
        not_negative(status, names_, "status", errors)
        for field in names_[1:]:
            if (value := status.get(field) or 0) > (status.get("replicas") or 0) and field != "observedGeneration":
                errors.append(field_errors.invalid(f"status.{field}", value, "cannot be greater than status.replicas"))

    return compare


def template_warnings(obj: Object) -> list[str]:
    messages = warnings.name_is_a_label(obj, "this is used in Pod names and hostnames") if obj["kind"] in _NAMED else []
    return [*messages, *warnings.template(obj["spec"]["template"], TEMPLATE)]


_NAMED = ("Deployment", "ReplicaSet", "ReplicationController")
