"""The pod and port that a request to pods/proxy or services/proxy names, with the errors of kube-apiserver. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from traincrew.apimachinery import api_errors, go_format
from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.unstructured import Object

DEFAULT_PORTS = {"http": 80, "https": 443}
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
Find = Callable[[str, str], Object | None]
"""(resource, name) → the object of the request's namespace."""
Shuffle = Callable[[Sequence[Any]], Sequence[Any]]
"""The same elements in another order: kube-apiserver starts with a random endpoint."""


class ProxyTarget(NamedTuple):
    pod: Object
    scheme: str
    """http or https."""
    address: str
    """The IP address of the pod, for messages and URLs. The kubelet connects to the pod, whatever its status says."""
    port: int

    @property
    def authority(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


class _Name(NamedTuple):
    scheme: str
    name: str
    port: str


def of_pod(name: str, find: Find) -> ProxyTarget:
    """Raises StatusError."""
    parsed = _parse(name, "pod")
    pod = _found("pods", parsed.name, find)
    port = parsed.port or _first_port(pod)
    address = _addresses(pod)[0] if _addresses(pod) else ""
    if not _is_pod_address(address):
        raise api_errors.bad_request("address not allowed")
    scheme = parsed.scheme or "http"
    return ProxyTarget(pod, scheme, address, _number(port, name) if port else DEFAULT_PORTS[scheme])


def of_service(name: str, find: Find, shuffle: Shuffle) -> ProxyTarget:
    """Raises StatusError."""
    parsed = _parse(name, "service")
    port_name = _port_name(parsed, find)
    endpoints = find("endpoints", parsed.name)
    if endpoints is None:
        raise api_errors.not_found(api_errors.StatusDetails("services", name=parsed.name))
    subsets = endpoints.get("subsets") or ()
    if not subsets:
        raise _no_endpoints(parsed.name)
    for subset in shuffle(subsets):
        for port in subset.get("ports") or ():
            if port.get("name", "") == port_name:
                for pod, address in _pods_of(shuffle(subset.get("addresses") or ()), find):
                    return ProxyTarget(pod, parsed.scheme or "http", address, port["port"])
    raise _no_endpoints(name)


def _parse(text: str, what: str) -> _Name:
    """`name`, `name:port` or `scheme:name:port`."""
    match text.split(":"):
        case [name]:
            parsed = _Name("", name, "")
        case [name, port]:
            parsed = _Name("", name, port)
        case [scheme, name, port]:
            parsed = _Name(scheme, name, port)
        case _:
            raise _invalid(text, what)
    if not parsed.name or parsed.scheme not in ("", *DEFAULT_PORTS):
        raise _invalid(text, what)
    return parsed


def _invalid(text: str, what: str) -> StatusError:
    return api_errors.bad_request(f"invalid {what} request {go_format.quote(text)}")


def _found(resource: str, name: str, find: Find) -> Object:
    found = find(resource, name)
    if found is None:
        raise api_errors.not_found(api_errors.StatusDetails(resource, name=name))
    return found


def _first_port(pod: Object) -> str:
    ports = (port for container in pod["spec"]["containers"] for port in (container.get("ports") or ())[:1])
    return next((str(port["containerPort"]) for port in ports), "")


def _number(port: str, name: str) -> int:
    """Pods have no names of ports here. (kube-apiserver fails with an internal error.)"""
    if not (port.isascii() and port.isdecimal() and len(port) < 6 and 0 < int(port) < 65536):
        raise _invalid(name, "pod")
    return int(port)


def _port_name(parsed: _Name, find: Find) -> str:
    """The name of the Service's port. A number is the port of the Service, not that of its pods."""
    if not _NUMBER.fullmatch(parsed.port):
        return parsed.port
    number = int(parsed.port)
    for port in _found("services", parsed.name, find)["spec"].get("ports") or ():
        if port["port"] == number:
            return str(port.get("name", ""))
    raise _unavailable(f"no service port {number} found for service {go_format.quote(parsed.name)}")


def _pods_of(addresses: Sequence[Object], find: Find) -> Iterator[tuple[Object, str]]:
    """Only addresses that are those of their pods: Endpoints may be written by hand, and name any machine."""
    for each in addresses:
        reference = each.get("targetRef") or {}
        pod = find("pods", reference.get("name", "")) if reference.get("kind") == "Pod" else None
        if pod is not None and pod["metadata"]["namespace"] == reference.get("namespace") and each["ip"] in _addresses(pod):
            yield pod, each["ip"]


def _addresses(pod: Object) -> list[str]:
    status = pod.get("status") or {}
    return [each["ip"] for each in status.get("podIPs") or () if "ip" in each]


def _is_pod_address(text: str) -> bool:
    """Unlike kube-apiserver, a loopback address is allowed: pods that share the network of this machine may have it."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_multicast or address.is_link_local)


def _no_endpoints(name: str) -> StatusError:
    return _unavailable(f"no endpoints available for service {go_format.quote(name)}")


def unreachable(reason: str) -> StatusError:
    return _unavailable(f"error trying to reach service: {reason}")


def _unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)
