"""Horizontal pod autoscalers of autoscaling/v2."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, quantities, resource_lists
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.apps.workloads import not_negative
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

_FIELDS = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGETS = ("Utilization", "Value", "AverageValue")
_UP = [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]
_DOWN = [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def _default(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("minReplicas", 1)
    if obj.get("apiVersion") != "autoscaling/v2":
        return
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        _rules(spec["behavior"], "scaleUp", _UP)
        spec["behavior"]["scaleUp"].setdefault("stabilizationWindowSeconds", 0)
        _rules(spec["behavior"], "scaleDown", _DOWN)


def _rules(behavior: Object, field: str, policies: list[Object]) -> None:
    rules = behavior.setdefault(field, {})
    rules.setdefault("selectPolicy", "Max")
    if rules.get("policies") is None:
        rules["policies"] = [dict(policy) for policy in policies]


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    newer = obj.get("apiVersion") == "autoscaling/v2"
    obj["status"] = {"desiredReplicas": 0, "currentMetrics": None} if newer else {"currentReplicas": 0, "desiredReplicas": 0}


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        errors.append(field_errors.invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        errors.append(field_errors.invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        errors.append(field_errors.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    _check_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", errors)
    for index, metric in enumerate(spec.get("metrics") or ()):
        _check_metric(metric, f"spec.metrics[{index}]", errors)
    if least == 0 and not {"Object", "External"} & {each.get("type") for each in spec.get("metrics") or ()}:
        message = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(field_errors.forbidden("spec.metrics", message))
    for field in ("scaleUp", "scaleDown"):
        if (rules := (spec.get("behavior") or {}).get(field)) is not None:
            _check_rules(rules, f"spec.behavior.{field}", errors)


def _check_reference(reference: Object, path: str, errors: Errors) -> None:
    for field in ("kind", "name"):
        value = reference.get(field) or ""
        if not value:
            errors.append(field_errors.required(f"{path}.{field}"))
        else:
            errors += [field_errors.invalid(f"{path}.{field}", value, error) for error in name_validation.path_segment(value)]


def _check_metric(metric: Object, path: str, errors: Errors) -> None:
    kind = metric.get("type") or ""
    if not kind:
        errors.append(field_errors.required(f"{path}.type", "must specify a metric source type"))
    if kind not in _TYPES:
        errors.append(field_errors.not_supported(f"{path}.type", kind, _TYPES))
    present = [field for field in _FIELDS.values() if field in metric]
    if present:
        _check_source(present[0], metric[present[0]], f"{path}.{present[0]}", errors)
    expected = _FIELDS.get(kind)
    if expected is None:
        errors.append(field_errors.not_supported(f"{path}.type", kind, _TYPES))
    elif expected not in metric:
        errors.append(field_errors.required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        for field in present:
            if field != expected:
                errors.append(field_errors.forbidden(f"{path}.{field}", "must populate the given metric source only"))


def _check_source(field: str, source: Object, path: str, errors: Errors) -> None:
    target = source.get("target") or {}
    if field == "object":
        _check_reference(source.get("describedObject") or {}, f"{path}.describedObject", errors)
    if field in ("object", "external", "pods"):
        name = (source.get("metric") or {}).get("name") or ""
        if not name:
            errors.append(field_errors.required(f"{path}.metric.name", "must specify a metric name"))
        errors += [field_errors.invalid(f"{path}.metric.name", name, error) for error in name_validation.path_segment(name)]
    else:
        _check_resource(field, source, path, errors)
    _check_target(target, f"{path}.target", errors)
    _check_chosen(field, target, f"{path}.target", errors)


def _check_resource(field: str, source: Object, path: str, errors: Errors) -> None:
    name, container = source.get("name") or "", source.get("container") or ""
    if not name:
        errors.append(field_errors.required(f"{path}.name", "must specify a resource name"))
    elif field == "containerResource":
        resource_lists.validate_container_name(name, f"{path}.name", errors)
    if field == "containerResource":
        if not container:
            errors.append(field_errors.required(f"{path}.container", "must specify a container"))
        else:
            errors += [
                field_errors.invalid(f"{path}.container", container, error) for error in name_validation.dns_label(container)
            ]


def _check_target(target: Object, path: str, errors: Errors) -> None:
    kind = target.get("type") or ""
    if not kind:
        errors.append(field_errors.required(f"{path}.type", "must specify a metric target type"))
    if kind not in _TARGETS:
        errors.append(field_errors.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for field in ("value", "averageValue"):
        if (value := target.get(field)) is not None and quantities.nanos(value) <= 0:
            errors.append(
                field_errors.FieldError(field_errors.INVALID, f"{path}.{field}", f"Invalid value: {value}: must be positive")
            )
    if (percent := target.get("averageUtilization")) is not None and percent < 1:
        errors.append(field_errors.invalid(f"{path}.averageUtilization", percent, "must be greater than 0"))


def _check_chosen(field: str, target: Object, path: str, errors: Errors) -> None:
    value, average = target.get("value"), target.get("averageValue")
    if field == "object" and value is None and average is None:
        errors.append(field_errors.required(f"{path}.averageValue", "must set either a target value or averageValue"))
    elif field == "external" and value is None and average is None:
        message = "must set either a target value for metric or a per-pod target"
        errors.append(field_errors.required(f"{path}.averageValue", message))
    elif field == "external" and value is not None and average is not None:
        message = "may not set both a target value for metric and a per-pod target"
        errors.append(field_errors.forbidden(f"{path}.value", message))
    elif field == "pods" and average is None:
        errors.append(field_errors.required(f"{path}.averageValue", "must specify a positive target averageValue"))
    elif field in ("resource", "containerResource"):
        percent = target.get("averageUtilization")
        if percent is None and average is None:
            message = "must set either a target raw value or a target utilization"
            errors.append(field_errors.required(f"{path}.averageUtilization", message))
        if percent is not None and average is not None:
            message = "may not set both a target raw value and a target utilization"
            errors.append(field_errors.forbidden(f"{path}.averageValue", message))


def _check_rules(rules: Object, path: str, errors: Errors) -> None:
    window, select, policies = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy"), rules.get("policies") or ()
    at = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(field_errors.invalid(at, window, "must be greater than or equal to zero"))
    if window is not None and window > 3600:
        errors.append(field_errors.invalid(at, window, "must be less than or equal to 3600"))
    if select not in (None, "Disabled", "Max", "Min"):
        errors.append(field_errors.not_supported(f"{path}.selectPolicy", select, ("Disabled", "Max", "Min")))
    if not policies:
        errors.append(field_errors.required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        _check_policy(policy, f"{path}.policies[{index}]", errors)


def _check_policy(policy: Object, path: str, errors: Errors) -> None:
    if policy.get("type") not in ("Percent", "Pods"):
        errors.append(field_errors.not_supported(f"{path}.type", policy.get("type") or "", ("Percent", "Pods")))
    for field in ("value", "periodSeconds"):
        if (number := policy.get(field) or 0) <= 0:
            errors.append(field_errors.invalid(f"{path}.{field}", number, "must be greater than zero"))
    if (period := policy.get("periodSeconds") or 0) > 1800:
        errors.append(field_errors.invalid(f"{path}.periodSeconds", period, "must be less than or equal to 1800"))


def _validate_status_update(new: Object, _old: Object, errors: Errors) -> None:
    not_negative(new["status"], ("currentReplicas", "desiredReplicas"), "status", errors)


AUTOSCALER = Strategy(
    kind="HorizontalPodAutoscaler",
    has_status=True,
    defaults=_default,
    create_preparation=_prepare_create,
    validation=_validate,
    status_validation=_validate_status_update,
    update_validation_steps=("meta", "spec"),
)
