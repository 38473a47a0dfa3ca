"""Validation of Services and of their updates."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, object_meta_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses, service_address_validation
from traincrew.embedded.apiserver.registry.builtin.core.pods import probes
from traincrew.embedded.apiserver.registry.builtin.core.service_address_validation import NONE, is_headless

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TRAFFIC = ("Cluster", "Local")
_KUBELET = 10250
_DAY = 86400
_TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"


def is_balanced(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer"


def needs_node_port(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def needs_health_check(spec: Object) -> bool:
    return is_balanced(spec) and spec.get("externalTrafficPolicy") == "Local"


def is_external(spec: Object) -> bool:
    return needs_node_port(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def check(obj: Object, errors: list[FieldError]) -> None:
    spec = obj["spec"]
    ports, kind, headless = spec.get("ports") or [], spec.get("type") or "", is_headless(spec)
    if not ports and not headless and kind != "ExternalName":
        errors.append(field_errors.required("spec.ports"))
    _check_type(spec, kind, headless, errors)
    seen: set[str] = set()
    for index, port in enumerate(ports):
        _check_port(port, len(ports) > 1, seen, f"spec.ports[{index}]", errors)
    object_meta_validation.validate_labels(spec.get("selector") or {}, "spec.selector", errors)
    _check_affinity(spec, errors)
    if kind != "ExternalName":
        service_address_validation.check_addresses(spec, errors)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        if ip_addresses.check(address, f"spec.externalIPs[{index}]", errors):
            ip_addresses.check_not_special(address, f"spec.externalIPs[{index}]", errors)
    if kind not in _TYPES:
        errors.append(field_errors.not_supported("spec.type", kind, _TYPES))
    _check_ports_together(spec, ports, errors)
    _check_balancing(obj, errors)
    _check_traffic(spec, errors)


def _check_type(spec: Object, kind: str, headless: bool, errors: list[FieldError]) -> None:
    if kind == "LoadBalancer":
        for index, port in enumerate(spec.get("ports") or ()):
            if port.get("port") == _KUBELET:
                message = f"may not expose port {_KUBELET} externally since it is used by kubelet"
                errors.append(field_errors.invalid(f"spec.ports[{index}]", _KUBELET, message))
    if headless and needs_node_port(spec):
        errors.append(field_errors.invalid("spec.clusterIPs[0]", NONE, f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field):
                errors.append(field_errors.forbidden(f"spec.{field}", "may not be set for ExternalName services"))
        name = (spec.get("externalName") or "").removesuffix(".")
        if name:
            errors += [field_errors.invalid("spec.externalName", name, error) for error in name_validation.dns_subdomain(name)]
        else:
            errors.append(field_errors.required("spec.externalName"))


def _check_port(port: Object, named: bool, seen: set[str], path: str, errors: list[FieldError]) -> None:
    name, number = port.get("name") or "", port.get("port") or 0
    if named and not name:
        errors.append(field_errors.required(f"{path}.name"))
    elif name:
        errors += [field_errors.invalid(f"{path}.name", name, error) for error in name_validation.dns_label(name)]
        if name in seen:
            errors.append(field_errors.duplicate(f"{path}.name", name))
        seen.add(name)
    errors += [field_errors.invalid(f"{path}.port", number, error) for error in name_validation.port_number(number)]
    if port.get("protocol") not in _PROTOCOLS:
        errors.append(field_errors.not_supported(f"{path}.protocol", port.get("protocol") or "", _PROTOCOLS))
    probes.check_port(port.get("targetPort", 0), f"{path}.targetPort", errors)
    if (protocol := port.get("appProtocol")) is not None:
        errors += [
            field_errors.invalid(f"{path}.appProtocol", protocol, error) for error in name_validation.qualified_name(protocol)
        ]


def _check_affinity(spec: Object, errors: list[FieldError]) -> None:
    affinity = spec.get("sessionAffinity") or ""
    if affinity not in ("ClientIP", "None"):
        errors.append(field_errors.not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
    elif affinity == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= _DAY:
            at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            errors.append(field_errors.invalid(at, seconds, f"must be greater than 0 and less than {_DAY}"))


def _check_ports_together(spec: Object, ports: list[Object], errors: list[FieldError]) -> None:
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                at = f"spec.ports[{index}].nodePort"
                errors.append(field_errors.forbidden(at, "may not be used when `type` is 'ClusterIP'"))
    on_nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol") or "", port.get("nodePort") or 0)
        if key[1] and key in on_nodes:
            errors.append(field_errors.duplicate(f"spec.ports[{index}].nodePort", key[1]))
        on_nodes.add(key)
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol") or "", port.get("port") or 0)
        if key in seen:
            errors.append(field_errors.duplicate_formatted(f"spec.ports[{index}]", _go_port(*key)))
        seen.add(key)


def _go_port(protocol: str, number: int) -> str:
    target = 'TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}'
    fields_ = f'Name:"", Protocol:"{protocol}", AppProtocol:(*string)(nil), Port:{number}, {target}, NodePort:0'
    return f"core.ServicePort{{{fields_}}}"


def _check_balancing(obj: Object, errors: list[FieldError]) -> None:
    spec = obj["spec"]
    if ranges := spec.get("loadBalancerSourceRanges"):
        at = "spec.LoadBalancerSourceRanges"
        if not is_balanced(spec):
            errors.append(field_errors.forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
        for index, each in enumerate(ranges):
            ip_addresses.check_range(each.strip(), f"{at}[{index}]", errors)
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_balanced(spec):
        at = "spec.allocateLoadBalancerNodePorts"
        errors.append(field_errors.forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
    if (called := spec.get("loadBalancerClass")) is not None:
        _check_class(called, spec, errors)


def _check_class(called: str, spec: Object, errors: list[FieldError]) -> None:
    at = "spec.loadBalancerClass"
    if not is_balanced(spec):
        errors.append(field_errors.forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
        return
    errors += [field_errors.invalid(at, called, error) for error in name_validation.qualified_name(called)]


def _check_traffic(spec: Object, errors: list[FieldError]) -> None:
    outer, inner, health = (
        spec.get("externalTrafficPolicy"),
        spec.get("internalTrafficPolicy"),
        spec.get("healthCheckNodePort") or 0,
    )
    if not is_external(spec):
        if outer:
            message = "may only be set for externally-accessible services"
            errors.append(field_errors.invalid("spec.externalTrafficPolicy", outer, message))
    elif outer not in _TRAFFIC:
        errors.append(field_errors.not_supported("spec.externalTrafficPolicy", outer, _TRAFFIC))
    at = "spec.healthCheckNodePort"
    if needs_health_check(spec):
        if not health:
            errors.append(field_errors.required(at))
        else:
            errors += [field_errors.invalid(at, health, error) for error in name_validation.port_number(health)]
    elif health:
        message = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(field_errors.invalid(at, health, message))
    if inner is None:
        if spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer"):
            errors.append(field_errors.required("spec.internalTrafficPolicy"))
    elif inner not in _TRAFFIC:
        errors.append(field_errors.not_supported("spec.internalTrafficPolicy", inner, _TRAFFIC))
    if spec.get("trafficDistribution") not in (None, "PreferClose"):
        at = "spec.trafficDistribution"
        errors.append(field_errors.not_supported(at, spec["trafficDistribution"], ("PreferClose",)))


def compare(new: Object, old: Object, errors: list[FieldError]) -> None:
    spec, before = new["spec"], old["spec"]
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        if not (is_headless(spec) and is_headless(before)):
            service_address_validation.compare_addresses(spec, before, errors)
        if not is_headless(spec) and not is_headless(before):
            service_address_validation.compare_families(spec, before, errors)
    if is_balanced(spec) and is_balanced(before) and spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
        errors.append(field_errors.invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), "may not change once set"))
    moved = spec.get("healthCheckNodePort") != before.get("healthCheckNodePort")
    if moved and needs_health_check(spec) and needs_health_check(before):
        errors.append(field_errors.forbidden("spec.healthCheckNodePort", "field is immutable"))


def compare_status(new: Object, _old: Object, errors: list[FieldError]) -> None:
    ingresses = (new["status"].get("loadBalancer") or {}).get("ingress") or ()
    if ingresses and not is_balanced(new["spec"]):
        message = "may only be used when `spec.type` is 'LoadBalancer'"
        errors.append(field_errors.forbidden("status.loadBalancer.ingress", message))
        return
    for index, ingress in enumerate(ingresses):
        at = f"status.loadBalancer.ingress[{index}]"
        if ingress.get("ip"):
            ip_addresses.check(ingress["ip"], f"{at}.ip", errors)
        if (mode := ingress.get("ipMode")) is not None and not ingress.get("ip"):
            errors.append(field_errors.forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        elif mode not in (None, "Proxy", "VIP"):
            errors.append(field_errors.not_supported(f"{at}.ipMode", mode, ("Proxy", "VIP")))
        if host := ingress.get("hostname"):
            errors += [field_errors.invalid(f"{at}.hostname", host, error) for error in name_validation.dns_subdomain(host)]
            if ip_addresses.parse(host) is not None:
                errors.append(field_errors.invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address"))


def warnings(obj: Object) -> list[str]:
    spec, messages = obj["spec"], []
    if _TOPOLOGY_HINTS in (obj["metadata"].get("annotations") or {}):
        messages.append(f"annotation {_TOPOLOGY_HINTS} is deprecated, please use {_TOPOLOGY_MODE} instead")
    if spec.get("type") == "ExternalName" and spec.get("externalIPs"):
        messages.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if spec.get("type") != "ExternalName" and spec.get("externalName"):
        messages.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    return messages
