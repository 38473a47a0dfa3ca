"""The pods of a Service, with addresses and ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.apimachinery import times
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.pods import Pod

HEADLESS = "service.kubernetes.io/headless"
CHANGED = "endpoints.kubernetes.io/last-change-trigger-time"
EndpointPort = tuple[str, int, str, str | None]
"""Name, number, protocol, application protocol."""


def selects(service: Object, labels: Mapping[str, str]) -> bool:
    selector = service["spec"].get("selector")
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def has_endpoints(service: Object) -> bool:
    """Endpoints of other Services are managed by their creators."""
    return service["spec"].get("selector") is not None and service["spec"].get("type") != "ExternalName"


def included(pod: Pod, terminating: bool) -> bool:
    return not pod.ended and any(map(_allowed, pod.addresses)) and (terminating or not pod.deleted)


def publishes_unready(service: Object) -> bool:
    return bool(service["spec"].get("publishNotReadyAddresses"))


def is_headless(service: Object) -> bool:
    return service["spec"].get("clusterIP") in (None, "", "None")


def families(service: Object) -> list[str]:
    """IPv4, IPv6 or both; the first is the family of the Endpoints."""
    return service["spec"].get("ipFamilies") or ["IPv4"]


def addresses(pod: Pod, family: str) -> list[str]:
    return [each for each in pod.addresses if (":" in each) == (family == "IPv6") and _allowed(each)]


def _allowed(address: str) -> bool:
    """Pods in the host's network may have the loopback address, which is not a valid endpoint: an API server rejects it."""
    return not address.startswith("127.") and address != "::1"


def ports(service: Object, pod: Pod) -> list[EndpointPort]:
    """The ports of the Service that the pod has; a named target port may differ between pods, or be missing."""
    result = []
    for each in service["spec"].get("ports") or ():
        protocol = each.get("protocol", "TCP")
        if (number := _number(each.get("targetPort", each["port"]), protocol, pod)) is not None:
            result.append((each.get("name", ""), number, protocol, each.get("appProtocol")))
    return result


def _number(target: int | str, protocol: str, pod: Pod) -> int | None:
    if isinstance(target, int):
        return target
    named = (port for container in pod.spec.containers for port in container.ports)
    return next((port.container_port for port in named if (port.name, port.protocol) == (target, protocol)), None)


def port(endpoint_port: EndpointPort, *, nameless: bool) -> dict[str, Any]:
    """nameless: an empty name is omitted."""
    name, number, protocol, application = endpoint_port
    shown: dict[str, Any] = {} if nameless and not name else {"name": name}
    shown |= {"port": number, "protocol": protocol}
    return shown | ({"appProtocol": application} if application is not None else {})


def target(pod: Pod) -> dict[str, str]:
    meta = pod.metadata
    return {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}


def hostname(service: Object, pod: Pod) -> str:
    """The host name of the pod below the name of the Service. Empty: none."""
    meta = service["metadata"]
    matches = pod.spec.subdomain == meta["name"] and pod.metadata.namespace == meta["namespace"]
    return pod.spec.hostname if matches else ""


def changed(service: Object, pods: Iterable[Pod], new: bool) -> dict[str, str]:
    """The annotation with the time of the last change that triggered an update of the endpoints."""
    if new:
        return {CHANGED: service["metadata"]["creationTimestamp"]}
    ready = [condition.last_transition_time for pod in pods if (condition := pod.condition("Ready")) is not None]
    moment = max((each for each in ready if each is not None), default=None)
    return {CHANGED: times.rfc3339(moment)} if moment else {}
