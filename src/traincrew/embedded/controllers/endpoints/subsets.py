"""The Endpoints of a Service: addresses grouped by ports, ready and not ready apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.controllers.endpoints import members
from traincrew.embedded.controllers.endpoints.members import CHANGED, HEADLESS, EndpointPort
from traincrew.embedded.controllers.pods import Pod

CAPACITY = 1000
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


def subsets(service: Object, pods: Sequence[Pod]) -> list[Object]:
    ready: dict[EndpointPort | None, dict[str, bool]] = {}
    shown: dict[str, Object] = {}
    unready = members.publishes_unready(service)
    for pod in sorted(pods, key=lambda pod: (pod.addresses[:1], pod.metadata.uid)):
        addresses = members.addresses(pod, members.families(service)[0])
        if not members.included(pod, unready) or not addresses:
            continue
        shown[pod.metadata.uid] = _address(service, pod, addresses[0])
        for port in _ports(service, pod):
            ready.setdefault(port, {})[pod.metadata.uid] = unready or pod.ready
    together: dict[tuple[tuple[str, bool], ...], list[EndpointPort]] = {}
    for port, holders in ready.items():
        together.setdefault(tuple(sorted(holders.items())), []).extend([port] if port is not None else [])
    result = [_subset(holders, ports, shown) for holders, ports in together.items()]
    return sorted(result, key=lambda subset: repr([subset.get(key) for key in ("ports", "addresses", "notReadyAddresses")]))


def _ports(service: Object, pod: Pod) -> Sequence[EndpointPort | None]:
    if not service["spec"].get("ports"):
        return [None] if members.is_headless(service) else []
    return members.ports(service, pod)


def _address(service: Object, pod: Pod, ip: str) -> Object:
    shown: Object = {"ip": ip, "targetRef": members.target(pod)}
    if pod.spec.node_name:
        shown["nodeName"] = pod.spec.node_name
    if name := members.hostname(service, pod):
        shown["hostname"] = name
    return shown


def _subset(holders: Sequence[tuple[str, bool]], ports: Sequence[EndpointPort], shown: dict[str, Object]) -> Object:
    by_address = sorted((shown[uid]["ip"], uid, ready) for uid, ready in holders)
    lists: dict[str, list[Any]] = {
        "addresses": [shown[uid] for _, uid, ready in by_address if ready],
        "notReadyAddresses": [shown[uid] for _, uid, ready in by_address if not ready],
        "ports": [members.port(port, nameless=True) for port in ports],
    }
    return {key: value for key, value in lists.items() if value}


def wanted(service: Object, pods: Sequence[Pod], existing: Object | None) -> Object | None:
    """The Endpoints to write; None: no change."""
    meta = service["metadata"]
    labels = dict(meta.get("labels") or {})
    labels.pop(HEADLESS, None)
    if members.is_headless(service):
        labels[HEADLESS] = ""
    desired, over = _cut(subsets(service, pods))
    before = existing["metadata"] if existing else {}
    annotations = dict(before.get("annotations") or {})
    same = existing is not None and (existing.get("subsets") or []) == desired and (before.get("labels") or {}) == labels
    if same and (OVER_CAPACITY in annotations) == over:
        return None
    annotations = {key: value for key, value in annotations.items() if key not in (CHANGED, OVER_CAPACITY)}
    annotations |= members.changed(service, pods, existing is None)
    if over:
        annotations[OVER_CAPACITY] = "truncated"
    renewed = {**before, "name": meta["name"], "namespace": meta["namespace"], "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": renewed, "subsets": desired}


def _cut(complete: list[Object]) -> tuple[list[Object], bool]:
    """Truncates to the capacity of an Endpoints object, ready addresses first."""
    if sum(len(subset.get(key, ())) for subset in complete for key in ("addresses", "notReadyAddresses")) <= CAPACITY:
        return complete, False
    room, truncated = CAPACITY, [dict(subset) for subset in complete]
    for key in ("addresses", "notReadyAddresses"):
        for subset in truncated:
            if key in subset:
                subset[key] = subset[key][:room]
                room -= len(subset[key])
    return [{key: value for key, value in subset.items() if value} for subset in truncated], True
