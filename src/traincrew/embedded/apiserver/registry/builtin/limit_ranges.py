"""Limit ranges: what they fill into pods, what they refuse, and what is wrong with themselves."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.apimachinery import api_errors, field_errors, name_validation, pod_resources, quantities, resource_lists
from traincrew.apimachinery.api_errors import StatusDetails
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Object

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
ANNOTATION = "kubernetes.io/limit-ranger"


def fill(pod: Object, limit_range: Object) -> None:
    """The defaults of one limit range, in place."""
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for limit in _of_type(limit_range, "Container"):
        requests |= limit.get("defaultRequest") or {}
        limits |= limit.get("default") or {}
    told: list[str] = []
    for kind, called in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(kind) or ():
            told += _fill(container, requests, limits, f"{called} {container.get('name')}")
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(told)}"


def _fill(container: Object, requests: dict[str, str], limits: dict[str, str], called: str) -> Iterator[str]:
    mine = container["resources"]
    given = (mine.get("requests") or {}, mine.get("limits") or {})
    for side, defaults, present in (("requests", requests, given[0]), ("limits", limits, given[1])):
        missing = sorted(defaults.keys() - present.keys())
        if missing:
            mine[side] = {**defaults, **present}
            yield f"{', '.join(missing)} {side[:-1]} for {called}"


def _of_type(limit_range: Object, kind: str) -> list[Object]:
    return [limit for limit in (limit_range.get("spec") or {}).get("limits") or () if limit.get("type") == kind]


def refuse(obj: Object, plural: str, limit_ranges: list[Object]) -> None:
    """Raises a StatusError for a new pod or claim that some limit range does not allow."""
    for limit_range in limit_ranges:
        told = [*_violations(obj, plural, limit_range)]
        if told:
            message = told[0] if len(told) == 1 else f"[{', '.join(dict.fromkeys(told))}]"
            raise api_errors.forbidden(StatusDetails(plural, name=obj["metadata"].get("name") or ""), message)


def _violations(obj: Object, plural: str, limit_range: Object) -> Iterator[str]:
    if plural == "persistentvolumeclaims":
        requests = (obj["spec"].get("resources") or {}).get("requests") or {}
        for limit in _of_type(limit_range, "PersistentVolumeClaim"):
            yield from _below("PersistentVolumeClaim", limit, requests, {})
            yield from _above_request(limit, requests)
    if plural != "pods":
        return
    spec = obj["spec"]
    for limit in _of_type(limit_range, "Container"):
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            mine = container.get("resources") or {}
            yield from _outside("Container", limit, mine.get("requests") or {}, mine.get("limits") or {})
    for limit in _of_type(limit_range, "Pod"):
        yield from _outside("Pod", limit, pod_resources.requests(spec), pod_resources.limits(spec))


def _outside(kind: str, limit: Object, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    yield from _below(kind, limit, requests, limits)
    for name, most in (limit.get("max") or {}).items():
        words = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            yield f"{words}.  No limit is specified"
        elif quantities.nanos(limits[name]) > quantities.nanos(most):
            yield f"{words}, but limit is {limits[name]}"
        elif name in requests and quantities.nanos(requests[name]) > quantities.nanos(most):
            yield f"{words}, but request is {requests[name]}"
    for name, ratio in (limit.get("maxLimitRequestRatio") or {}).items():
        yield from _ratio(f"{name} max limit to request ratio per {kind} is {ratio}", ratio, requests.get(name), limits.get(name))


def _below(kind: str, limit: Object, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    for name, least in (limit.get("min") or {}).items():
        words = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            yield f"{words}.  No request is specified"
        elif quantities.nanos(requests[name]) < quantities.nanos(least):
            yield f"{words}, but request is {requests[name]}"
        elif name in limits and quantities.nanos(limits[name]) < quantities.nanos(least):
            yield f"{words}, but limit is {limits[name]}"


def _above_request(limit: Object, requests: dict[str, str]) -> Iterator[str]:
    for name, most in (limit.get("max") or {}).items():
        words = f"maximum {name} usage per PersistentVolumeClaim is {most}"
        if name not in requests:
            yield f"{words}.  No request is specified"
        elif quantities.nanos(requests[name]) > quantities.nanos(most):
            yield f"{words}, but request is {requests[name]}"


def _ratio(words: str, most: str, request: str | None, limit: str | None) -> Iterator[str]:
    if request is None or not quantities.nanos(request):
        yield f"{words}, but no request is specified or request is 0"
    elif limit is None or not quantities.nanos(limit):
        yield f"{words}, but no limit is specified or limit is 0"
    elif (ratio := quantities.nanos(limit) / quantities.nanos(request)) * 10**9 > quantities.nanos(most):
        yield f"{words}, but provided ratio is {ratio:.6f}"


def default(obj: Object) -> None:
    for limit in obj["spec"].get("limits") or ():
        if limit.get("type") == "Container":
            _default(limit)


def _default(limit: Object) -> None:
    limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
    for field, value in (("default", limits), ("defaultRequest", requests)):
        if value:
            limit[field] = value


def check(obj: Object, errors: list[FieldError]) -> None:
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
    if faults := name_validation.qualified(kind):
        errors += [field_errors.invalid(path, kind, fault) for fault in faults]
    elif "/" not in kind and kind not in _TYPES:
        errors.append(field_errors.invalid(path, kind, "must be a standard limit type or fully qualified"))


def _check_names(limit: Object, kind: str, path: str, errors: list[FieldError]) -> None:
    rule = resource_lists.check_container_name if kind in ("Pod", "Container") else resource_lists.check_name
    for side in _SIDES:
        if kind == "Pod" and side in ("default", "defaultRequest"):
            if limit.get(side):
                errors.append(field_errors.forbidden(f"{path}.{side}", "may not be specified when `type` is 'Pod'"))
            continue
        for name in limit.get(side) or ():
            rule(name, f"{path}.{side}[{name}]", errors)
    if kind == "PersistentVolumeClaim" and "storage" not in {*(limit.get("min") or ()), *(limit.get("max") or ())}:
        words = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(field_errors.required(f"{path}.limits", words))


def _check_amounts(limit: Object, name: str, path: str, errors: list[FieldError]) -> None:
    found = {side: (limit.get(side) or {}).get(name) for side in _SIDES}
    for side, low, high, words in _COMPARISONS:
        less, more = found[low], found[high]
        if less is not None and more is not None and quantities.nanos(less) > quantities.nanos(more):
            shown = quantities.go_syntax(found[side] or "0")
            told = f"{words[0]} value {less} is greater than {words[1]} value {more}"
            errors.append(FieldError(field_errors.INVALID, f"{path}.{side}[{name}]", f"Invalid value: {shown}: {told}"))
    ratio = found["maxLimitRequestRatio"]
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
