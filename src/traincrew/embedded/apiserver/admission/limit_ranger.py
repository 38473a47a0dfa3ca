"""LimitRanger: fills the defaults of the limit ranges into new pods, and rejects pods and claims outside their limits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from traincrew.apimachinery import pod_resources, quantities
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission.attributes import CREATE, AdmissionAttributes, Listers

ANNOTATION = "kubernetes.io/limit-ranger"
MAX_FILLED = 10_000
"""Requests and limits that a limit range sets in one pod: those of many resources, for many containers each, may be millions."""
MAX_VIOLATIONS = 1_000


def admit(attributes: AdmissionAttributes, listers: Listers) -> None:
    if attributes.is_for("pods", CREATE):
        for limit_range in listers.list("limitranges", attributes.namespace):
            _fill_pod(attributes, limit_range)


def validate(attributes: AdmissionAttributes, listers: Listers) -> list[str]:
    if not any(attributes.is_for(each, CREATE) for each in ("pods", "persistentvolumeclaims")):
        return []
    for limit_range in listers.list("limitranges", attributes.namespace):
        found = _violations(attributes.object, attributes.info.plural, limit_range)
        violations = list(itertools.islice(found, MAX_VIOLATIONS))
        if violations:
            unique = ", ".join(dict.fromkeys(violations))
            raise attributes.forbidden(violations[0] if len(violations) == 1 else f"[{unique}]")
    return []


def _fill_pod(attributes: AdmissionAttributes, limit_range: Object) -> None:
    pod = attributes.object
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for limit in _of_type(limit_range, "Container"):
        requests |= limit.get("defaultRequest") or {}
        limits |= limit.get("default") or {}
    filled: list[str] = []
    kinds = ("containers", "initContainers")
    if (len(requests) + len(limits)) * sum(len(pod["spec"].get(kind) or ()) for kind in kinds) > MAX_FILLED:
        name = limit_range["metadata"]["name"]
        raise attributes.forbidden(f"limit range {name} sets more than {MAX_FILLED} resources of the pod's containers")
    for kind, described in zip(kinds, ("container", "init container"), strict=True):
        for container in pod["spec"].get(kind) or ():
            filled += _fill(container, requests, limits, f"{described} {container.get('name')}")
    if filled:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(filled)}"


def _fill(container: Object, requests: dict[str, str], limits: dict[str, str], described: str) -> Iterator[str]:
    resources = container["resources"]
    given = (resources.get("requests") or {}, resources.get("limits") or {})
    for side, defaults, present in (("requests", requests, given[0]), ("limits", limits, given[1])):
        missing = sorted(defaults.keys() - present.keys())
        if missing:
            resources[side] = {**defaults, **present}
            yield f"{', '.join(missing)} {side[:-1]} for {described}"


def _of_type(limit_range: Object, kind: str) -> list[Object]:
    return [limit for limit in (limit_range.get("spec") or {}).get("limits") or () if limit.get("type") == kind]


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
            resources = container.get("resources") or {}
            yield from _outside("Container", limit, resources.get("requests") or {}, resources.get("limits") or {})
    for limit in _of_type(limit_range, "Pod"):
        yield from _outside("Pod", limit, pod_resources.requests(spec), pod_resources.limits(spec))


def _outside(kind: str, limit: Object, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    yield from _below(kind, limit, requests, limits)
    for name, most in (limit.get("max") or {}).items():
        message = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            yield f"{message}.  No limit is specified"
        elif quantities.nanos(limits[name]) > quantities.nanos(most):
            yield f"{message}, but limit is {limits[name]}"
        elif name in requests and quantities.nanos(requests[name]) > quantities.nanos(most):
            yield f"{message}, but request is {requests[name]}"
    for name, ratio in (limit.get("maxLimitRequestRatio") or {}).items():
        yield from _ratio(f"{name} max limit to request ratio per {kind} is {ratio}", ratio, requests.get(name), limits.get(name))


def _below(kind: str, limit: Object, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    for name, least in (limit.get("min") or {}).items():
        message = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            yield f"{message}.  No request is specified"
        elif quantities.nanos(requests[name]) < quantities.nanos(least):
            yield f"{message}, but request is {requests[name]}"
        elif name in limits and quantities.nanos(limits[name]) < quantities.nanos(least):
            yield f"{message}, but limit is {limits[name]}"


def _above_request(limit: Object, requests: dict[str, str]) -> Iterator[str]:
    for name, most in (limit.get("max") or {}).items():
        message = f"maximum {name} usage per PersistentVolumeClaim is {most}"
        if name not in requests:
            yield f"{message}.  No request is specified"
        elif quantities.nanos(requests[name]) > quantities.nanos(most):
            yield f"{message}, but request is {requests[name]}"


def _ratio(message: str, most: str, request: str | None, limit: str | None) -> Iterator[str]:
    if request is None or not quantities.nanos(request):
        yield f"{message}, but no request is specified or request is 0"
    elif limit is None or not quantities.nanos(limit):
        yield f"{message}, but no limit is specified or limit is 0"
    elif (ratio := quantities.nanos(limit) / quantities.nanos(request)) * 10**9 > quantities.nanos(most):
        yield f"{message}, but provided ratio is {ratio:.6f}"
