"""Isolation level none: replaces names of Services in a pod's variables by 127.0.0.1, because there is no DNS server. PURE"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from traincrew.embedded.kubelet.network.dns_zone import CLUSTER_DOMAIN, SERVICE_NAME_LABEL

Object = Mapping[str, Any]
LOCALHOST = "127.0.0.1"
_LABEL = r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\.)"
_START, _END = r"(?:(?<=//)|(?<![\w./-]))", r"(?![\w-]|\.[\w-])"
"""A name must not be part of a longer name or of a path."""
_ALONE = (r"(?<![\w./\"'-])", r"(?![\w/\"'-]|\.[\w-])")
"""A quoted word without dot and port is a role or a key of TF_CONFIG, not a host."""


def point_to_localhost(
    values: Mapping[str, str], services: Iterable[Object], namespace: str, domain: str = CLUSTER_DOMAIN
) -> dict[str, str]:
    """Replaces names of Services, also of pods in them, by 127.0.0.1.

    values: literal values only. A value of the downward API may equal the name of a Service without meaning it.
    """
    names = [
        (str(each["metadata"]["name"]), str(each["metadata"].get("namespace") or "default"))
        for each in services
        if (each.get("spec") or {}).get("type") != "ExternalName"
    ]
    pattern = _pattern(names, namespace, domain)
    return {key: pattern.sub(LOCALHOST, value) for key, value in values.items()} if pattern else dict(values)


def container_on_localhost(
    written: Mapping[str, Any], services: Iterable[Object], namespace: str, domain: str = CLUSTER_DOMAIN
) -> dict[str, Any]:
    """The container with its literal variables rewritten."""
    entries = [dict(entry) for entry in written.get("env") or ()]
    texts = {str(index): entry["value"] for index, entry in enumerate(entries) if entry.get("value")}
    for index, value in point_to_localhost(texts, services, namespace, domain).items():
        entries[int(index)]["value"] = value
    return {**written, "env": entries}


def ready_endpoint_slices(services: Iterable[Object], pods: Iterable[Object]) -> list[Object]:
    """EndpointSlices with the ready pods of each Service at 127.0.0.1, an address that real EndpointSlices cannot have."""
    ready = [pod for pod in pods if _ready(pod)]
    return [_slice(service, [pod for pod in ready if _selects(service, pod)]) for service in services]


def _ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    leaving = "deletionTimestamp" in pod["metadata"]
    return not leaving and any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _selects(service: Object, pod: Object) -> bool:
    selector, labels = (service.get("spec") or {}).get("selector") or {}, pod["metadata"].get("labels") or {}
    near = pod["metadata"].get("namespace") == service["metadata"].get("namespace")
    return bool(selector) and near and all(labels.get(key) == value for key, value in selector.items())


def _slice(service: Object, pods: Iterable[Object]) -> Object:
    meta = service["metadata"]
    endpoints = []
    for pod in pods:
        named = pod["spec"].get("hostname") if pod["spec"].get("subdomain") == meta["name"] else None
        endpoints.append({"addresses": [LOCALHOST], **({"hostname": named} if named else {})})
    labels = {SERVICE_NAME_LABEL: meta["name"]}
    return {"metadata": {"namespace": meta.get("namespace"), "labels": labels}, "addressType": "IPv4", "endpoints": endpoints}


def services_on_localhost(services: Iterable[dict[str, Any]], api: tuple[str, int]) -> list[dict[str, Any]]:
    """Services for the service variables: at this host and at the ports of their pods, because cluster IPs do not work."""
    return [_on_host(each, api) for each in services]


def _on_host(service: dict[str, Any], api: tuple[str, int]) -> dict[str, Any]:
    spec, meta = service.get("spec") or {}, service["metadata"]
    if spec.get("clusterIP") in (None, "", "None"):
        return service
    if (meta.get("namespace"), meta["name"]) == ("default", "kubernetes"):
        return {**service, "spec": {**spec, "clusterIP": api[0], "ports": [{**each, "port": api[1]} for each in spec["ports"]]}}
    ports = [{**each, "port": _own(each)} for each in spec.get("ports") or ()]
    return {**service, "spec": {**spec, "clusterIP": LOCALHOST, "ports": ports}}


def _own(port: Mapping[str, Any]) -> int:
    target = port.get("targetPort")
    return target if isinstance(target, int) and target else int(port["port"])


def _pattern(names: list[tuple[str, str]], namespace: str, domain: str) -> re.Pattern[str] | None:
    dotted = [f"{name}.{own}{rest}" for name, own in names for rest in (f".svc.{domain}", ".svc", "")]
    short = [name for name, own in names if own == namespace]
    patterns = [f"{_START}{_LABEL}?(?:{_any(dotted)})\\.?{_END}"] if dotted else []
    if short:
        own = _any(short)
        patterns += [f"{_START}{_LABEL}(?:{own}){_END}", f"{_START}(?:{own})(?=:\\d)", f"(?<=//)(?:{own}){_END}"]
        patterns.append(f"{_ALONE[0]}(?:{own}){_ALONE[1]}")
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _any(names: list[str]) -> str:
    """Longest first, so that a short name does not match the start of a longer one."""
    return "|".join(re.escape(name) for name in sorted(set(names), key=lambda name: (-len(name), name)))
