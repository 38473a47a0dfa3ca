"""The strategy of Services: defaults, and the allocation of cluster IPs and node ports."""

from __future__ import annotations

from traincrew.apimachinery import name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import service_ips_and_ports, service_validation
from traincrew.embedded.apiserver.registry.builtin.core.service_address_validation import addresses_of
from traincrew.embedded.apiserver.registry.builtin.core.service_validation import needs_health_check, needs_node_port
from traincrew.embedded.apiserver.registry.builtin.strategy import Strategy
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
    service_ips_and_ports.validate_addresses(obj)
    service_ips_and_ports.default_families(obj)
    service_ips_and_ports.allocate_address(obj, context)
    if needs_node_port(spec):
        service_ips_and_ports.allocate_ports(obj, context)
    service_ips_and_ports.allocate_health_check_port(spec, context)


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
        service_ips_and_ports.validate_addresses(new)
        if old["spec"].get("type") == "ExternalName":
            service_ips_and_ports.default_families(new)
            service_ips_and_ports.allocate_address(new, context)
        if needs_node_port(spec) and any(not port.get("nodePort") for port in spec.get("ports") or ()):
            for port in spec["ports"]:
                if not port.get("nodePort") and spec.get("allocateLoadBalancerNodePorts") is not False:
                    port["nodePort"] = context.allocate_port()
        if needs_health_check(spec) and not needs_health_check(old["spec"]):
            service_ips_and_ports.allocate_health_check_port(spec, context)


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
