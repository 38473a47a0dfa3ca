"""Endpoints."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses
from traincrew.embedded.apiserver.registry.builtin.core.pods.containers import PROTOCOLS
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy


def _default(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _validate(obj: Object, errors: Errors) -> None:
    for index, subset in enumerate(obj.get("subsets") or ()):
        at, ports = f"subsets[{index}]", subset.get("ports") or ()
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(field_errors.required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for which, address in enumerate(subset.get(field) or ()):
                _check_address(address, f"{at}.{field}[{which}]", errors)
        for which, port in enumerate(ports):
            _check_port(port, len(ports) > 1, f"{at}.ports[{which}]", errors)


def _check_address(address: Object, path: str, errors: Errors) -> None:
    text, host, node = address.get("ip") or "", address.get("hostname"), address.get("nodeName")
    ip_addresses.check(text, f"{path}.ip", errors)
    if host:
        errors += [field_errors.invalid(f"{path}.hostname", host, error) for error in name_validation.dns_label(host)]
    if node is not None:
        errors += [field_errors.invalid(f"{path}.nodeName", node, error) for error in name_validation.dns_subdomain(node)]
    ip_addresses.check_not_special(text, f"{path}.ip", errors)


def _check_port(port: Object, named: bool, path: str, errors: Errors) -> None:
    name, number = port.get("name") or "", port.get("port") or 0
    if named and not name:
        errors.append(field_errors.required(f"{path}.name"))
    elif name:
        errors += [field_errors.invalid(f"{path}.name", name, error) for error in name_validation.dns_label(name)]
    errors += [field_errors.invalid(f"{path}.port", number, error) for error in name_validation.port_number(number)]
    check_protocols(port, path, errors)


def check_protocols(port: Object, path: str, errors: Errors) -> None:
    if port.get("protocol") not in PROTOCOLS:
        errors.append(field_errors.not_supported(f"{path}.protocol", port.get("protocol") or "", PROTOCOLS))
    if (protocol := port.get("appProtocol")) is not None:
        errors += [
            field_errors.invalid(f"{path}.appProtocol", protocol, error) for error in name_validation.qualified_name(protocol)
        ]


ENDPOINTS = Strategy(
    kind="Endpoints",
    allow_create_on_update=True,
    defaults=_default,
    validation=_validate,
    update_validation_steps=("meta", "whole"),
)
