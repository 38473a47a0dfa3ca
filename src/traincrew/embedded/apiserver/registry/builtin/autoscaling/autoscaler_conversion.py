"""Conversion of HorizontalPodAutoscalers between autoscaling/v1 and v2. Fields that v1 does not have are annotations."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery.unstructured import Object

PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, CURRENT, CONDITIONS, BEHAVIOR = (f"{PREFIX}{name}" for name in ("metrics", "current-metrics", "conditions", "behavior"))
CARRIED = (METRICS, CURRENT, CONDITIONS, BEHAVIOR)
DEFAULT_PERCENTAGE = 80


class _Part(NamedTuple):
    old: str
    """The field in v1."""
    new: tuple[str, ...]
    """The path in v2."""
    empty: Any = None
    """The value in v1 where v2 has none; None: no value."""


def _parts(verb: str, value: str) -> dict[str, tuple[_Part, ...]]:
    """Fields of metric sources: those of the target, or those of the current value."""
    average, named = _Part(f"{verb}AverageValue", (verb, "averageValue")), _Part("metricName", ("metric", "name"), "")
    usage = _Part(f"{verb}AverageUtilization", (verb, "averageUtilization"))
    chosen, least = _Part("selector", ("metric", "selector")), average._replace(empty="0")
    of_resource = (_Part("name", ("name",), ""), usage, average if verb == "target" else least)
    amount = _Part(f"{verb}Value", (verb, "value"))
    return {
        "object": (
            _Part("target", ("describedObject",), {}), named, amount._replace(empty="0"), chosen,
            _Part("averageValue", (verb, "averageValue")),
        ),
        "pods": (named, least, chosen),
        "resource": of_resource,
        "containerResource": (*of_resource, _Part("container", ("container",), "")),
        "external": (
            named, chosen._replace(old="metricSelector"), amount if verb == "target" else amount._replace(empty="0"), average,
        ),
    }  # fmt: skip


_WANTED, _FOUND = _parts("target", "value"), _parts("current", "value")


def older(obj: Object) -> Object:
    """From v2 to v1."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    carried = {
        METRICS: [_flat(each, _WANTED) for each in metrics if _percentage(each, "target") is None],
        CURRENT: [_flat(each, _FOUND) for each in current],
        BEHAVIOR: _capitalized(spec.get("behavior")),
        CONDITIONS: status.get("conditions"),
    }
    v2_fields = {key: msgspec.json.encode(value).decode() for key, value in carried.items() if value}
    target = _first(_percentage(each, "target") for each in metrics)
    current_use = _first([_percentage(each, "current") for each in reversed(current)])
    return _annotated(obj, v2_fields) | {
        "spec": _kept(spec, "scaleTargetRef", "minReplicas", "maxReplicas", targetCPUUtilizationPercentage=target),
        "status": {"currentReplicas": 0, "desiredReplicas": 0}
        | _kept(
            status, "observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas",
            currentCPUUtilizationPercentage=current_use,
        ),
    }  # fmt: skip


def newer(obj: Object) -> Object:
    """From v1 to v2."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    annotations = obj["metadata"].get("annotations") or {}
    target, current_use = spec.get("targetCPUUtilizationPercentage"), status.get("currentCPUUtilizationPercentage")
    metrics = [_nested(each, _WANTED) for each in _read(annotations, METRICS, [])]
    if target is not None or not metrics:
        metrics.append(_cpu("target", DEFAULT_PERCENTAGE if target is None else target))
    current = [_nested(each, _FOUND) for each in _read(annotations, CURRENT, [])]
    if not current and current_use is not None:
        current = [_cpu("current", current_use)]
    kept = _kept(
        status, "observedGeneration", "lastScaleTime", "desiredReplicas", conditions=_read(annotations, CONDITIONS, None)
    )
    if status.get("currentReplicas"):
        kept["currentReplicas"] = status["currentReplicas"]
    behavior = _uncapitalized(_read(annotations, BEHAVIOR, None))
    return _annotated(obj, {}) | {
        "spec": _kept(spec, "scaleTargetRef", "minReplicas", "maxReplicas", metrics=metrics, behavior=behavior),
        "status": {"desiredReplicas": 0} | kept | {"currentMetrics": current or None},
    }


def _kept(held: Object, *fields: str, **more: Any) -> Object:
    kept = {field: held[field] for field in fields if held.get(field) is not None}
    return kept | {field: value for field, value in more.items() if value is not None}


def _first(values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _annotated(obj: Object, v2_fields: dict[str, str]) -> Object:
    meta = obj["metadata"]
    held = {key: value for key, value in (meta.get("annotations") or {}).items() if key not in CARRIED} | v2_fields
    others = {key: value for key, value in meta.items() if key != "annotations"}
    return obj | {"metadata": others | ({"annotations": held} if held else {})}


def _percentage(metric: Object, verb: str) -> int | None:
    """Of the one metric that v1 knows: the use of CPU."""
    resource = metric.get("resource") if metric.get("type") == "Resource" else None
    if not resource or resource.get("name") != "cpu":
        return None
    percentage: int | None = (resource.get(verb) or {}).get("averageUtilization")
    return percentage


def _cpu(verb: str, percentage: int) -> Object:
    typed = {"type": "Utilization"} if verb == "target" else {}
    return {"type": "Resource", "resource": {"name": "cpu", verb: {**typed, "averageUtilization": percentage}}}


def _flat(metric: Object, parts: dict[str, tuple[_Part, ...]]) -> Object:
    result: Object = {"type": metric.get("type", "")}
    for field in parts:
        if metric.get(field):
            flat = {part.old: _at(metric[field], part) for part in parts[field]}
            result[field] = {key: value for key, value in flat.items() if value is not None}
    return result


def _at(value: Any, part: _Part) -> Any:
    for key in part.new:
        value = value.get(key) if isinstance(value, dict) else None
    return part.empty if value is None else value


def _nested(metric: Object, parts: dict[str, tuple[_Part, ...]]) -> Object:
    result: Object = {"type": metric.get("type", "")}
    for field in parts:
        source = metric.get(field)
        if isinstance(source, dict):
            result[field] = _unfolded(source, parts[field])
            if parts is _WANTED:
                result[field].setdefault("target", {})["type"] = _target_type(field, source)
    return result


def _unfolded(source: Object, parts: tuple[_Part, ...]) -> Object:
    result: Object = {}
    for part in parts:
        value = source.get(part.old, part.empty)
        if value is not None:
            node = result
            for key in part.new[:-1]:
                node = node.setdefault(key, {})
            node[part.new[-1]] = value
    return result


def _target_type(field: str, source: Object) -> str:
    if field in ("resource", "containerResource"):
        return "AverageValue" if source.get("targetAverageUtilization") is None else "Utilization"
    if field == "external":
        return "AverageValue" if source.get("targetValue") is None else "Value"
    return "AverageValue" if field == "pods" or source.get("averageValue") is not None else "Value"


_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies")


def _capitalized(behavior: Object | None) -> Object | None:
    """As a Go structure without names for JSON is written."""
    if behavior is None:
        return None
    return {_upper(way): _rules(behavior.get(way)) for way in ("scaleUp", "scaleDown")}


def _rules(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    policies = [{_upper(key): value for key, value in each.items()} for each in rules.get("policies") or ()]
    converted = {_upper(key): rules.get(key) for key in _RULES}
    return converted | {"Policies": policies or None}


def _uncapitalized(behavior: Any) -> Any:
    if isinstance(behavior, dict):
        converted = {key[:1].lower() + key[1:]: _uncapitalized(value) for key, value in behavior.items() if value is not None}
        return converted or None
    return [_uncapitalized(each) for each in behavior] if isinstance(behavior, list) else behavior


def _upper(key: str) -> str:
    return key[:1].upper() + key[1:]


def _read(annotations: Object, key: str, otherwise: Any) -> Any:
    """Malformed values are skipped."""
    kind = dict if key == BEHAVIOR else list[dict[str, Any]]
    try:
        return msgspec.json.decode(annotations[key], type=kind)
    except (KeyError, msgspec.DecodeError):
        return otherwise
