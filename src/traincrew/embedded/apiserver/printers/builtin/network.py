"""Services, Endpoints, EndpointSlices, Ingresses, NetworkPolicies."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery.durations import UNKNOWN, Ages
from traincrew.embedded.apiserver.printers.builtin.cells import (
    NONE,
    UNSET,
    Fields,
    Metadata,
    Selector,
    first_items,
    labels,
    selector,
)
from traincrew.embedded.apiserver.printers.columns import Printer, definitions

_MAX_ENDPOINTS = 3
_MAX_HOSTS = 3


class _Object(Fields):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class ServicePort(Fields):
    port: int = 0
    node_port: int = 0
    protocol: str = "TCP"


class ServiceSpec(Fields):
    type: str = ""
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    cluster_ips: list[str] = msgspec.field(name="clusterIPs", default=[])
    external_ips: list[str] = msgspec.field(name="externalIPs", default=[])
    external_name: str = ""
    ports: list[ServicePort] = []
    selector: dict[str, str] = {}


class Ingress(Fields):
    ip: str = ""
    hostname: str = ""


class LoadBalancer(Fields):
    ingress: list[Ingress] = []


class LoadBalanced(Fields):
    load_balancer: LoadBalancer = msgspec.field(default_factory=LoadBalancer)

    def addresses(self) -> list[str]:
        return sorted({each.ip or each.hostname for each in self.load_balancer.ingress} - {""})


class Service(_Object):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    status: LoadBalanced = msgspec.field(default_factory=LoadBalanced)


def _service(kept: Service, ages: Ages) -> list[Any]:
    spec = kept.spec
    address = spec.cluster_ips[0] if spec.cluster_ips else spec.cluster_ip or NONE
    ports = ",".join(_port(each) for each in spec.ports) or NONE
    cells = [kept.metadata.name, spec.type, address, _external(kept), ports]
    return [*cells, ages.since(kept.metadata.creation_timestamp), labels(spec.selector)]


def _port(port: ServicePort) -> str:
    number = f"{port.port}:{port.node_port}" if port.node_port else str(port.port)
    return f"{number}/{port.protocol}"


def _external(kept: Service) -> str:
    spec = kept.spec
    match spec.type:
        case "ClusterIP" | "NodePort":
            return ",".join(spec.external_ips) or NONE
        case "LoadBalancer":
            return ",".join([*kept.status.addresses(), *spec.external_ips]) or "<pending>"
        case "ExternalName":
            return spec.external_name
    return UNKNOWN


class EndpointAddress(Fields):
    ip: str = ""


class EndpointPort(Fields):
    name: str | None = None
    port: int | None = None


class Subset(Fields):
    addresses: list[EndpointAddress] = []
    ports: list[EndpointPort] = []


class Endpoints(_Object):
    subsets: list[Subset] = []


def _endpoints(kept: Endpoints, ages: Ages) -> list[Any]:
    reached: list[str] = []
    for subset in kept.subsets:
        ports = [f":{each.port}" for each in subset.ports] or [""]
        reached += [f"{_bracketed(each.ip) if port else each.ip}{port}" for port in ports for each in subset.addresses]
    cell = first_items(reached, len(reached), _MAX_ENDPOINTS) if kept.subsets else NONE
    return [kept.metadata.name, cell, ages.since(kept.metadata.creation_timestamp)]


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


class SliceEndpoint(Fields):
    addresses: list[str] = []


class EndpointSlice(_Object):
    address_type: str = ""
    ports: list[EndpointPort] = []
    endpoints: list[SliceEndpoint] = []


def _slice(kept: EndpointSlice, ages: Ages) -> list[Any]:
    ports = [str(each.port) if each.port is not None else "*" if each.name is None else each.name for each in kept.ports]
    reached = [address for each in kept.endpoints for address in each.addresses]
    cells = [first_items(each, len(each), _MAX_ENDPOINTS) or UNSET for each in (ports, reached)]
    return [kept.metadata.name, kept.address_type, *cells, ages.since(kept.metadata.creation_timestamp)]


class IngressRule(Fields):
    host: str = ""


class IngressSpec(Fields):
    ingress_class_name: str | None = None
    rules: list[IngressRule] = []
    tls: list[msgspec.Raw] = []


class IngressObject(_Object):
    spec: IngressSpec = msgspec.field(default_factory=IngressSpec)
    status: LoadBalanced = msgspec.field(default_factory=LoadBalanced)


def _ingress(kept: IngressObject, ages: Ages) -> list[Any]:
    spec = kept.spec
    address = ",".join(kept.status.addresses())
    cells = [kept.metadata.name, NONE if spec.ingress_class_name is None else spec.ingress_class_name, _hosts(spec.rules)]
    return [*cells, address, "80, 443" if spec.tls else "80", ages.since(kept.metadata.creation_timestamp)]


def _hosts(rules: list[IngressRule]) -> str:
    """The first three. The number of the others counts rules without a host, too."""
    named = [rule.host for rule in rules if rule.host]
    third = [index for index, rule in enumerate(rules) if rule.host][_MAX_HOSTS - 1 : _MAX_HOSTS]
    more = f" + {len(rules) - _MAX_HOSTS} more..." if third and third[0] + 1 < len(rules) else ""
    return ",".join(named[:_MAX_HOSTS]) + more if named else "*"


class NetworkPolicySpec(Fields):
    pod_selector: Selector = msgspec.field(default_factory=Selector)


class NetworkPolicy(_Object):
    spec: NetworkPolicySpec = msgspec.field(default_factory=NetworkPolicySpec)


def _network_policy(kept: NetworkPolicy, ages: Ages) -> list[Any]:
    return [kept.metadata.name, selector(kept.spec.pod_selector), ages.since(kept.metadata.creation_timestamp)]


_SERVICE = definitions("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*")
_INGRESS = definitions("Name", "Class", "Hosts", "Address", "Ports", "Age")
_SLICE = definitions("Name", "AddressType", "Ports", "Endpoints", "Age")
PRINTERS = {
    ("", "Service"): Printer(_SERVICE, Service, _service),
    ("", "Endpoints"): Printer(definitions("Name", "Endpoints", "Age"), Endpoints, _endpoints),
    ("networking.k8s.io", "Ingress"): Printer(_INGRESS, IngressObject, _ingress),
    ("networking.k8s.io", "NetworkPolicy"): Printer(definitions("Name", "Pod-Selector", "Age"), NetworkPolicy, _network_policy),
    ("discovery.k8s.io", "EndpointSlice"): Printer(_SLICE, EndpointSlice, _slice),
}
