"""Resource quota: the usage of objects, and admission by the quotas of a namespace."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from traincrew.apimachinery import api_errors, label_selectors, pod_resources, quantities, resource_lists
from traincrew.apimachinery.api_errors import StatusDetails, StatusError
from traincrew.apimachinery.unstructured import Object

ResourceUsage = dict[str, str]

_COMPUTE_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_REQUIRED_RESOURCES = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_COUNTED_RESOURCES = (
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class QuotaRequest:
    """An object to create, or to change from `old`."""

    obj: Object
    plural: str
    group: str = ""
    old: Object | None = None

    @property
    def object_count_name(self) -> str:
        return f"count/{self.plural}.{self.group}" if self.group else f"count/{self.plural}"


def is_counted(plural: str, group: str) -> bool:
    """Whether objects of the resource are only counted: their content does not matter."""
    return bool(group) or plural not in ("pods", "services", "persistentvolumeclaims")


def usage(request: QuotaRequest) -> ResourceUsage:
    """The usage of the object, by all resource names that a quota may limit."""
    return _usage(request, request.obj)


def _usage(request: QuotaRequest, obj: Object) -> ResourceUsage:
    used: ResourceUsage = {request.object_count_name: "1"}
    if request.group:
        return used
    if request.plural == "pods":
        if (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return used
        return used | {"pods": "1"} | _compute_usage(pod_resources.requests(obj["spec"]), pod_resources.limits(obj["spec"]))
    if request.plural in _COUNTED_RESOURCES:
        used[request.plural] = "1"
    if request.plural == "services":
        used |= _service_usage(obj["spec"])
    if request.plural == "persistentvolumeclaims":
        used |= _claim_usage(obj["spec"])
    return used


def _compute_usage(requests: Mapping[str, str], limits: Mapping[str, str]) -> ResourceUsage:
    used: ResourceUsage = {}
    for name in _COMPUTE_RESOURCES:
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, value in requests.items():
        if resource_lists.is_huge_pages(name):
            used[name] = used[f"requests.{name}"] = value
        elif resource_lists.is_extended(name):
            used[f"requests.{name}"] = value
    return used


def _service_usage(spec: Object) -> ResourceUsage:
    ports = [port for port in spec.get("ports") or () if port.get("nodePort")]
    used = {"services.nodeports": "0", "services.loadbalancers": "0"}
    if spec.get("type") == "NodePort":
        used["services.nodeports"] = str(len(spec.get("ports") or ()))
    if spec.get("type") == "LoadBalancer":
        given = spec.get("allocateLoadBalancerNodePorts") is not False
        used["services.nodeports"] = str(len(spec.get("ports") or ()) if given else len(ports))
        used["services.loadbalancers"] = "1"
    return used


def _claim_usage(spec: Object) -> ResourceUsage:
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    used: ResourceUsage = {} if storage is None else {"requests.storage": storage}
    if called := spec.get("storageClassName"):
        prefix = f"{called}.storageclass.storage.k8s.io"
        used[f"{prefix}/persistentvolumeclaims"] = "1"
        if storage is not None:
            used[f"{prefix}/requests.storage"] = storage
    return used


def total(requests: Iterable[QuotaRequest], quota: Object) -> ResourceUsage:
    """`status.used` of a quota."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    sums: dict[str, list[str | int | float]] = {name: [] for name in hard}
    for request in requests:
        if not _matches(quota, request):
            continue
        for name, value in usage(request).items():
            if name in sums:
                sums[name].append(value)
    return {name: quantities.add(values) if values else "0" for name, values in sums.items()}


def check_request(request: QuotaRequest, quotas: Sequence[Object]) -> dict[str, ResourceUsage]:
    """The new `status.used` of each quota that the object changes, by the name of the quota.

    Raises 403 if a quota is exceeded. The limits and the usage are taken from the status of the quotas.
    """
    delta = _delta(request)
    applicable = [quota for quota in quotas if _applies_to(quota, request)]
    changed: dict[str, ResourceUsage] = {}
    for quota in applicable if delta else ():
        status, name = quota.get("status") or {}, quota["metadata"]["name"]
        hard, used = status.get("hard") or {}, status.get("used") or {}
        requested = {key: value for key, value in delta.items() if key in hard}
        after = {key: quantities.add([used.get(key, "0"), value]) for key, value in requested.items()}
        exceeded = [key for key in after if quantities.nanos(after[key]) > quantities.nanos(hard[key])]
        if exceeded:
            raise _forbidden(request, _exceeded_message(name, exceeded, requested, used, hard))
        if requested:
            changed[name] = {**used, **after}
    return changed


def _applies_to(quota: Object, request: QuotaRequest) -> bool:
    hard = (quota.get("status") or {}).get("hard") or {}
    names = [name for name in hard if _limits_request(name, request)]
    if not names or not _matches(quota, request):
        return False
    name = quota["metadata"]["name"]
    missing = _missing_resources(request.obj["spec"], names) if request.plural == "pods" and not request.group else ""
    if missing:
        raise _forbidden(request, f"failed quota: {name}: must specify {missing}")
    if any(each not in ((quota.get("status") or {}).get("used") or {}) for each in names):
        raise _forbidden(request, f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")
    return True


def _limits_request(name: str, request: QuotaRequest) -> bool:
    if name == request.object_count_name:
        return True
    if request.group:
        return False
    if request.plural == "pods":
        compute = name.removeprefix("requests.").removeprefix("limits.")
        return name == "pods" or compute in _COMPUTE_RESOURCES or compute.startswith("hugepages-") or _is_extended_request(name)
    if request.plural == "persistentvolumeclaims":
        return name in (request.plural, "requests.storage") or ".storageclass.storage.k8s.io/" in name
    return name == request.plural or (request.plural == "services" and name.startswith("services."))


def _is_extended_request(name: str) -> bool:
    return name.startswith("requests.") and not resource_lists.is_native(name) and ".storageclass.storage.k8s.io/" not in name


def _missing_resources(spec: Object, names: Iterable[str]) -> str:
    required = sorted({*names} & {*_REQUIRED_RESOURCES})
    lacking: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        mine = container.get("resources") or {}
        given = _compute_usage(mine.get("requests") or {}, mine.get("limits") or {})
        for name in required:
            if name not in given:
                lacking.setdefault(name, set()).add(container.get("name") or "")
    return "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


def _matches(quota: Object, request: QuotaRequest) -> bool:
    spec = quota.get("spec") or {}
    requirements = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    requirements += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(_in_scope(each, request) for each in requirements)


def _in_scope(requirement: Object, request: QuotaRequest) -> bool:
    if request.plural != "pods" or request.group:
        return False
    spec, scope = request.obj["spec"], requirement.get("scopeName")
    if scope in ("Terminating", "NotTerminating"):
        return (spec.get("activeDeadlineSeconds") is not None) is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return (pod_resources.qos_class(spec) == "BestEffort") is (scope == "BestEffort")
    if scope == "PriorityClass":
        return _in_class(requirement, spec.get("priorityClassName") or "")
    return scope == "CrossNamespacePodAffinity" and _crosses_namespaces(spec.get("affinity") or {})


def _in_class(requirement: Object, name: str) -> bool:
    return label_selectors.meets({**requirement, "key": "PriorityClass"}, {"PriorityClass": name} if name else {})


def _crosses_namespaces(affinity: Object) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        listed = [*(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ())]
        listed += [each.get("podAffinityTerm") or {} for each in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in listed):
            return True
    return False


def _delta(request: QuotaRequest) -> ResourceUsage:
    used = usage(request)
    if request.old is not None:
        before = _usage(request, request.old)
        used = {name: _subtract(value, before.get(name, "0")) for name, value in used.items()}
    return {name: value for name, value in used.items() if quantities.nanos(value) > 0}


def _subtract(value: str, before: str) -> str:
    left = max(quantities.nanos(value) - quantities.nanos(before), 0)
    return quantities.from_nanos(left, quantities.format_of(value)).canonical()


def _exceeded_message(name: str, exceeded: list[str], requested: ResourceUsage, used: ResourceUsage, hard: ResourceUsage) -> str:
    def listed(amounts: ResourceUsage) -> str:
        return ",".join(f"{key}={amounts[key]}" for key in sorted(exceeded) if key in amounts)

    return f"exceeded quota: {name}, requested: {listed(requested)}, used: {listed(used)}, limited: {listed(hard)}"


def _forbidden(request: QuotaRequest, why: str) -> StatusError:
    return api_errors.forbidden(StatusDetails(request.plural, request.group, request.obj["metadata"].get("name") or ""), why)
