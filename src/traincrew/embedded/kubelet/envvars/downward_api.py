"""The downward API: fields of a pod, and resources of its containers. PURE."""

from __future__ import annotations

from collections.abc import Mapping

from traincrew.apimachinery import go_format, quantities
from traincrew.apimachinery.unstructured import Object

_DEFAULTED = ("cpu", "memory", "ephemeral-storage")


class UnsupportedField(ValueError):
    pass


def metadata(pod: Object, path: str) -> str:
    """A field that both volumes and environment variables can refer to."""
    meta = pod.get("metadata") or {}
    if path.endswith("']") and "['" in path:
        field, _, key = path[:-2].partition("['")
        if field not in ("metadata.annotations", "metadata.labels"):
            raise UnsupportedField(f'fieldPath "{path}" does not support subscript')
        return str((meta.get(field.removeprefix("metadata.")) or {}).get(key, ""))
    match path:
        case "metadata.annotations" | "metadata.labels":
            return _listed(meta.get(path.removeprefix("metadata.")) or {})
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(meta.get(path.removeprefix("metadata."), ""))
    raise UnsupportedField(f"unsupported fieldPath: {path}")


def _listed(values: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={go_format.quote(value)}" for key, value in sorted(values.items()))


def field(pod: Object, path: str, pod_ips: tuple[str, ...], host_ips: tuple[str, ...]) -> str:
    """A field that an environment variable can refer to."""
    spec = pod.get("spec") or {}
    match path:
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.removeprefix("spec."), ""))
        case "status.hostIP":
            return host_ips[0] if host_ips else ""
        case "status.hostIPs":
            return ",".join(host_ips)
        case "status.podIP":
            return pod_ips[0] if pod_ips else ""
        case "status.podIPs":
            return ",".join(pod_ips)
    return metadata(pod, path)


def resource(pod: Object, reference: Object, container: str, allocatable: Mapping[str, str]) -> str:
    """A container's request or limit, divided and rounded up. A missing limit defaults to the node's allocatable."""
    name = reference.get("containerName") or container
    kind, _, resource_name = str(reference.get("resource", "")).partition(".")
    if kind not in ("limits", "requests") or not (resource_name in _DEFAULTED or resource_name.startswith("hugepages-")):
        raise UnsupportedField(f"unsupported container resource : {reference.get('resource')}")
    amounts = (_container(pod, name).get("resources") or {}).get(kind) or {}
    value = amounts.get(resource_name)
    if value is None:
        value = allocatable.get(resource_name, "0") if kind == "limits" and resource_name in _DEFAULTED else "0"
    divisor = reference.get("divisor") or "0"
    divisor = divisor if quantities.nanos(divisor) else "1"
    units = quantities.milli_value if resource_name == "cpu" else quantities.value
    return str(-(-units(value) // units(divisor)))


def _container(pod: Object, name: str) -> Object:
    spec = pod["spec"]
    for each in (*spec.get("containers", ()), *(spec.get("initContainers") or ())):
        if each["name"] == name:
            found: Object = each
            return found
    raise UnsupportedField(f"container {name} not found")
