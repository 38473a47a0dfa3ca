"""The strategy of Services: defaults, and the allocation of cluster IPs and node ports."""

from __future__ import annotations

import ipaddress

from traincrew.apimachinery import api_errors, field_errors, go_format, name_validation
from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses, service_validation
from traincrew.embedded.apiserver.registry.builtin.core.service_validation import (
    NONE,
    addresses_of,
    is_headless,
    needs_health_check,
    needs_node_port,
)
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import EMPTY, WriteContext

_INTERNAL = ("ClusterIP", "NodePort", "LoadBalancer")
_STICKY_SECONDS = 10800


def _default(obj: Object) -> None:
    spec = obj["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    given = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds")
    if affinity == "ClientIP" and given is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _STICKY_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if service_validation.is_external(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in _INTERNAL:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in obj["status"]["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _prepare_create(obj: Object, context: WriteContext) -> None:
    obj["status"] = {"loadBalancer": {}}
    spec = obj["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] == "ExternalName":
        spec.pop("internalTrafficPolicy", None)
        return
    _validate_addresses(obj)
    _families(obj)
    _allocate_address(obj, context)
    if needs_node_port(spec):
        _allocate_ports(obj, context)
    _allocate_health(spec, context)


def _validate_addresses(obj: Object) -> None:
    """Contradictory addresses are rejected before anything else is validated."""
    errors = field_errors.FieldErrors()
    service_validation.check_addresses(obj["spec"], errors)
    if errors:
        raise _invalid(obj, errors)


def _families(obj: Object) -> None:
    """On a cluster whose services have IPv4 addresses only."""
    spec = obj["spec"]
    selectorless = spec.get("clusterIP") == NONE and not spec.get("selector")
    policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if selectorless else "SingleStack")
    errors = _family_errors(spec, policy)
    if errors:
        raise _invalid(obj, errors)
    if selectorless:
        families = spec.get("ipFamilies") or ["IPv4"]
        if len(families) < 2 and policy != "SingleStack":
            families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
        spec["ipFamilies"] = families
        return
    if policy == "RequireDualStack":
        errors.append(
            field_errors.invalid("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services")
        )
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family != "IPv4":
            errors.append(field_errors.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if errors:
        raise _invalid(obj, errors)
    spec["ipFamilies"] = spec.get("ipFamilies") or ["IPv4"]


def _family_errors(spec: Object, policy: str) -> Errors:
    errors = field_errors.FieldErrors()
    several = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    if policy == "SingleStack":
        for field, called in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
            if len(spec.get(field) or ()) == 2:
                errors.append(field_errors.invalid("spec.ipFamilyPolicy", policy, several.format(called)))
    listed = spec.get("clusterIPs") or []
    for index, text in enumerate(listed if NONE not in listed else ()):
        address = ip_addresses.parse(text)
        if index >= len(spec.get("ipFamilies") or ()):
            if address is not None and address.version == 6:
                shown = go_format.string_slice(listed)
                errors.append(
                    field_errors.invalid_formatted(f"spec.clusterIPs[{index}]", shown, "IPv6 is not configured on this cluster")
                )
            else:
                spec["ipFamilies"] = [*(spec.get("ipFamilies") or ()), "IPv4"]
    return errors


def _invalid(obj: Object, errors: Errors) -> StatusError:
    return api_errors.invalid("Service", "", obj["metadata"].get("name") or "", errors)


def _allocate_address(obj: Object, context: WriteContext) -> None:
    spec = obj["spec"]
    if is_headless(spec):
        return
    requested = (spec.get("clusterIPs") or [""])[0]
    if requested:
        if error := _unavailable(requested, context):
            shown = go_format.string_slice(spec["clusterIPs"])
            raise _invalid(
                obj, [field_errors.invalid_formatted("spec.clusterIPs", shown, f"failed to allocate IP {requested}: {error}")]
            )
    else:
        requested = context.allocate_ip()
    spec["clusterIP"], spec["clusterIPs"] = requested, [requested]


def _unavailable(requested: str, context: WriteContext) -> str:
    address, network = ip_addresses.parse(requested), ipaddress.ip_network(context.service_range)
    if address not in network:
        message = f"the provided IP ({requested}) is not in the valid range."
        return f"{message} The range of valid IPs is {context.service_range}"
    return "provided IP is already allocated" if context.ip_in_use(requested) else ""


def _allocate_ports(obj: Object, context: WriteContext) -> None:
    spec = obj["spec"]
    chosen: dict[int, int] = {}
    numbers: set[int] = set()
    requested_ports = _requested_ports(spec)
    low, high = context.node_ports
    for index, port in enumerate(spec.get("ports") or ()):
        requested = port.get("nodePort") or 0
        if not requested and spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            continue
        number = requested or chosen.get(port["port"]) or requested_ports.get(port["port"], 0)
        if number and number not in numbers:
            if not low <= number <= high:
                raise _invalid(obj, [field_errors.invalid(f"spec.ports[{index}].nodePort", number, _outside(low, high))])
            if context.port_in_use(number):
                raise _invalid(
                    obj, [field_errors.invalid(f"spec.ports[{index}].nodePort", number, "provided port is already allocated")]
                )
        port["nodePort"] = number or context.allocate_port()
        numbers.add(chosen.setdefault(port["port"], port["nodePort"]))


def _allocate_health(spec: Object, context: WriteContext) -> None:
    if not needs_health_check(spec):
        return
    requested = spec.get("healthCheckNodePort") or 0
    low, high = context.node_ports
    if requested and not low <= requested <= high:
        why = f"failed to allocate requested HealthCheck NodePort {requested}: {_outside(low, high)}"
        raise StatusError(422, "Invalid", why)
    spec["healthCheckNodePort"] = requested or context.allocate_port()


def _outside(low: int, high: int) -> str:
    return f"provided port is not in the valid range. The range of valid ports is {low}-{high}"


def _requested_ports(spec: Object) -> dict[int, int]:
    """By port, the first node port that one of its protocols requests."""
    return {each["port"]: each["nodePort"] for each in reversed(spec.get("ports") or ()) if each.get("nodePort")}


def _prepare_update(new: Object, old: Object) -> None:
    """Allocated values are kept where the update leaves them out."""
    spec, before = new["spec"], old["spec"]
    _drop_for_type(spec, before)
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        spec.setdefault("clusterIP", before.get("clusterIP", ""))
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
        if spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]] if spec.get("clusterIP") else []
        for field in ("ipFamilyPolicy", "ipFamilies"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    if needs_node_port(spec) and needs_node_port(before):
        _keep_ports(spec, before)
    if needs_health_check(spec) and needs_health_check(before) and before.get("healthCheckNodePort"):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _drop_for_type(spec: Object, before: Object) -> None:
    if spec.get("type") == "ExternalName" != before.get("type"):
        if addresses_of(spec) == addresses_of(before):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if spec.get(field) == before.get(field):
                spec.pop(field, None)
    if needs_node_port(before) and not needs_node_port(spec):
        former = {port.get("nodePort") for port in before.get("ports") or ()}
        if all(port.get("nodePort") in former for port in spec.get("ports") or () if port.get("nodePort")):
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
    fitting = {
        "healthCheckNodePort": needs_health_check,
        "allocateLoadBalancerNodePorts": service_validation.is_balanced,
        "loadBalancerClass": service_validation.is_balanced,
        "externalTrafficPolicy": service_validation.is_external,
    }
    for field, fits in fitting.items():
        if fits(before) and not fits(spec) and spec.get(field) == before.get(field):
            spec.pop(field, None)


def _keep_ports(spec: Object, before: Object) -> None:
    taken = {port.get("nodePort") for port in spec.get("ports") or ()}
    former = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = former.get(port.get("name", ""))
        if not port.get("nodePort") and number and number not in taken:
            port["nodePort"] = number


class ServiceStrategy(Strategy):
    def prepare_for_update(self, new: Object, old: Object, subresource: str = "", context: WriteContext = EMPTY) -> None:
        super().prepare_for_update(new, old, subresource, context)
        if subresource == "":
            self._allocate(new, old, context)

    def _allocate(self, new: Object, old: Object, context: WriteContext) -> None:
        """The addresses and ports that a changed type needs."""
        spec = new["spec"]
        if spec["type"] == "ExternalName":
            spec.pop("internalTrafficPolicy", None)
            return
        _validate_addresses(new)
        if old["spec"].get("type") == "ExternalName":
            _families(new)
            _allocate_address(new, context)
        if needs_node_port(spec) and any(not port.get("nodePort") for port in spec.get("ports") or ()):
            for port in spec["ports"]:
                if not port.get("nodePort") and spec.get("allocateLoadBalancerNodePorts") is not False:
                    port["nodePort"] = context.allocate_port()
        if needs_health_check(spec) and not needs_health_check(old["spec"]):
            _allocate_health(spec, context)


SERVICE = ServiceStrategy(
    kind="Service",
    allow_create_on_update=True,
    naming=name_validation.dns_1035_label,
    has_status=True,
    defaults=_default,
    create_preparation=_prepare_create,
    update_preparation=_prepare_update,
    validation=service_validation.check,
    update_validation=service_validation.compare,
    status_validation=service_validation.compare_status,
    update_validation_steps=("meta", "compare", "whole"),
    warning_rules=service_validation.warnings,
    warns_on_update=True,
)
