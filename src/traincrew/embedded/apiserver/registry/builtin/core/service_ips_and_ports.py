"""Cluster IPs, node ports and health check ports of a Service: defaults of IP families, and allocation."""

from __future__ import annotations

import ipaddress

from traincrew.apimachinery import api_errors, field_errors, go_format
from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses, service_address_validation
from traincrew.embedded.apiserver.registry.builtin.core.service_address_validation import NONE, is_headless
from traincrew.embedded.apiserver.registry.builtin.core.service_validation import needs_health_check
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext


def validate_addresses(obj: Object) -> None:
    """Contradictory addresses are rejected before anything else is validated."""
    errors = field_errors.FieldErrors()
    service_address_validation.check_addresses(obj["spec"], errors)
    if errors:
        raise _invalid(obj, errors)


def default_families(obj: Object) -> None:
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


def allocate_address(obj: Object, context: WriteContext) -> None:
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


def allocate_ports(obj: Object, context: WriteContext) -> None:
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


def allocate_health_check_port(spec: Object, context: WriteContext) -> None:
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
